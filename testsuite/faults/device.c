/* Device memory as buffers, with the driver loaded after MPI_Init as Python programs do.
 *
 * usage: device DRIVER */
#include "../faces/check.h"

#include <dlfcn.h>
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv)
{
    enum { BYTES = 8 << 20 };
    int host = 7, got = 0, length = 0, rank;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Aint address;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    /* Before the driver comes, its addresses may have been the host's. */
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(MPI_Sendrecv(memory, 4, MPI_BYTE, rank, 1, memory + BYTES / 2, 4, MPI_BYTE, rank, 1,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    mprotect(memory, BYTES, PROT_NONE);

    void *driver = dlopen(argv[1], RTLD_NOW);
    if (!driver) {
        puts(dlerror());
        return 1;
    }
    *(char **)dlsym(driver, "device_begin") = memory;
    *(char **)dlsym(driver, "device_end") = memory + BYTES;
    char *fresh = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(MPI_Sendrecv(fresh, 4, MPI_BYTE, rank, 1, fresh + BYTES / 2, 4, MPI_BYTE, rank, 1,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);

    int code = MPI_Send(memory, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
    CHECK(class_of(code) == MPI_ERR_BUFFER);
    MPI_Error_string(code, text, &length);
    CHECK(class_of(MPI_Recv(memory + 64, 1, MPI_INT, rank, 1, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Irecv(memory + BYTES - 4, 1, MPI_INT, rank, 1, MPI_COMM_WORLD,
                             &request)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Allreduce(MPI_IN_PLACE, memory, 1, MPI_INT, MPI_SUM,
                                 MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    /* Asking for an address is no access, and host memory still works. */
    CHECK(MPI_Get_address(memory, &address) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(&host, 1, MPI_INT, rank, 1, &got, 1, MPI_INT, rank, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS && got == 7);
    MPI_Finalize();
    if (!bad)
        puts("ok");
    return bad;
}

/* What `testsuite/tests/guard.rs` counts the instructions of: rank 0 sends into a lane with room while
   rank 1 is outside MPI, and rank 1 receives when all is there, so that nobody waits. The function
   `region` is what counts; before it the same calls have run, so nothing in it happens for
   the first time. A third rank takes part in barriers alone.

       guard WAY BYTES TIMES FLAG-FILE  */
#include <mpi.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The library's copies come here, since a program's own functions go first: they have a name to be
   counted by, and cost the same whatever C library there is. */
__attribute__((noinline, noclone)) void *memcpy(void *to, const void *from, size_t n)
{
    void *begin = to;
    size_t words = n / 8, rest = n % 8;
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(rest) : : "memory");
    return begin;
}

__attribute__((noinline, noclone)) void *memmove(void *to, const void *from, size_t n)
{
    if ((uintptr_t)to - (uintptr_t)from >= n)
        return memcpy(to, from, n);
    for (char *at = to; n--;)
        *(volatile char *)(at + n) = ((const char *)from)[n];
    return to;
}

static int rank, bytes;
static char *buffer, *all;

static void send_blocking(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Send(buffer, bytes, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
}

static void receive_blocking(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_nonblocking(int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Request request;
        MPI_Isend(buffer, bytes, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void receive_nonblocking(int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Request request;
        MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Rooted collectives in which data go from rank 0 to rank 1 only. */
static void bcast(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Bcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* The same begun and waited for. */
static void ibcast(int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Request request;
        MPI_Ibcast(buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void igather(int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Request request;
        MPI_Igather(buffer, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void gather(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Gather(buffer, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 1, MPI_COMM_WORLD);
}

static void scatter(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Scatter(all, bytes, MPI_BYTE, buffer, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void reduce(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Reduce(buffer, all, bytes / 8, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
}

static void nothing(int n)
{
    (void)n;
}

static const struct way {
    const char *name;
    void (*by_rank[2])(int);
} WAYS[] = {
    { "blocking", { send_blocking, receive_blocking } },
    { "nonblocking", { send_nonblocking, receive_nonblocking } },
    { "bcast", { bcast, bcast } },
    { "ibcast", { ibcast, ibcast } },
    { "igather", { igather, igather } },
    { "gather", { gather, gather } },
    { "scatter", { scatter, scatter } },
    { "reduce", { reduce, reduce } },
};

__attribute__((noinline, noclone)) void region(void (*run)(int), int n)
{
    run(n);
}

/* Rank 1 has taken in what rank 0 sent; its own message tells that to rank 0, which otherwise learns of
   room many cells at a time and might have to wait for some. */
static void tell_of_room(void)
{
    if (rank == 1)
        MPI_Send(NULL, 0, MPI_BYTE, 0, 8, MPI_COMM_WORLD);
    else if (rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void await_file(const char *name)
{
    struct timespec pause = { 0, 1000000 };
    while (access(name, F_OK))
        nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 5)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int times = atoi(argv[3]);
    bytes = atoi(argv[2]);
    buffer = calloc(1, (size_t)bytes);
    all = calloc(2, (size_t)bytes);
    const struct way *way = WAYS, *end = WAYS + sizeof WAYS / sizeof *WAYS;
    while (way < end && strcmp(way->name, argv[1]))
        way++;
    if (way == end)
        MPI_Abort(MPI_COMM_WORLD, 2);
    void (*mine)(int) = rank < 2 ? way->by_rank[rank] : nothing;
    /* Once in 32 pieces the writer of a stream looks at how far it has been read, and what the first
       three looks take tells it whether its reader's cache is near. */
    for (int i = 0; i < 40; i++) {
        mine(times);
        MPI_Barrier(MPI_COMM_WORLD);
        tell_of_room();
    }
    if (rank == 0) {
        region(mine, times);
        close(open(argv[4], O_CREAT | O_WRONLY, 0600));
    } else if (rank == 1) {
        await_file(argv[4]);
        region(mine, times);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("ok");
    free(buffer);
    free(all);
    MPI_Finalize();
    return 0;
}

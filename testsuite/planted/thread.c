// A fault for the thread sanitizer to find: a thread writes what the main thread is sending.
#include <mpi.h>
#include <pthread.h>

static int number;

static void *change(void *nothing) {
    number = 1;
    return nothing;
}

int main(int argc, char **argv) {
    int received;
    pthread_t thread;
    MPI_Init(&argc, &argv);
    pthread_create(&thread, NULL, change, NULL);
    MPI_Sendrecv(&number, 1, MPI_INT, 0, 0, &received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
    return MPI_Finalize();
}

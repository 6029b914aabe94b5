// ranks: 2
// Threads that wait for long leave the processors to others, and wake when what they wait for comes.
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

enum { THREADS = 2, TIMES = 20 };

static double latest;

static double processor_time(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void nap(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static void *waits(void *argument) {
    int t = (int)(long)argument;
    double sent = 0;
    MPI_Recv(&sent, 1, MPI_DOUBLE, 1 - rank, t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

// Messages in turn to the one and the other of two threads that sleep: each takes little longer than one alone would.
static void *answers(void *argument) {
    int t = (int)(long)argument, got = -1;
    for (int i = 0; i < TIMES; i++) {
        MPI_Recv(&got, 1, MPI_INT, 0, 10 + t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&got, 1, MPI_INT, 0, 20 + t, MPI_COMM_WORLD);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided = -1;
    pthread_t threads[THREADS];
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    EQUAL(provided, MPI_THREAD_MULTIPLE);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 1) {
        for (long t = 0; t < THREADS; t++) EQUAL(pthread_create(&threads[t], NULL, waits, (void *)t), 0);
        nap(0.3);
        double before = processor_time();
        nap(2);
        double taken = processor_time() - before;
        CHECK(taken < 0.02, "two threads that wait take %.1f %% of a processor", 50 * taken);
    } else {
        nap(2.6);
        double now = MPI_Wtime();
        for (int t = 0; t < THREADS; t++) OK(MPI_Send(&now, 1, MPI_DOUBLE, 1, t, MPI_COMM_WORLD));
    }
    if (rank == 1)
        for (int t = 0; t < THREADS; t++) EQUAL(pthread_join(threads[t], NULL), 0);
    if (rank == 1) {
        for (long t = 0; t < THREADS; t++) EQUAL(pthread_create(&threads[t], NULL, answers, (void *)t), 0);
        for (int t = 0; t < THREADS; t++) EQUAL(pthread_join(threads[t], NULL), 0);
    } else {
        for (int i = 0; i < TIMES; i++) {
            for (int t = 0; t < THREADS; t++) {
                int got = -1;
                nap(0.005);
                double begin = MPI_Wtime();
                OK(MPI_Send(&i, 1, MPI_INT, 1, 10 + t, MPI_COMM_WORLD));
                OK(MPI_Recv(&got, 1, MPI_INT, 1, 20 + t, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                double taken = MPI_Wtime() - begin;
                latest = taken > latest ? taken : latest;
                EQUAL(got, i);
            }
        }
        // A wake-up that is lost shows as a sleep to its end, which is a second.
        CHECK(latest < 0.5, "an answer took %.0f ms", 1e3 * latest);
    }
    return finish();
}

// ranks: 1 2
// Thread levels: what is granted is told, and kept to (MPI-5.0 §11.6).
#include "check.h"
#include <pthread.h>

static int turn_of_thread, wrong;

// Under MPI_THREAD_SERIALIZED any thread may call, one at a time: this one, while main waits.
static void *other_thread(void *argument) {
    int main_thread = -1, got = -1, other = size - 1 - rank;
    (void)argument;
    MPI_Is_thread_main(&main_thread);
    MPI_Sendrecv(&rank, 1, MPI_INT, other, 1, &got, 1, MPI_INT, other, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    wrong = main_thread != 0 || got != other;
    turn_of_thread = 1;
    return NULL;
}

int main(int argc, char **argv) {
    int provided = -1, queried = -1, flag = -1;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(MPI_THREAD_SINGLE < MPI_THREAD_FUNNELED && MPI_THREAD_FUNNELED < MPI_THREAD_SERIALIZED &&
              MPI_THREAD_SERIALIZED < MPI_THREAD_MULTIPLE, "the levels are ordered");
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE, "level %d", provided);
    OK(MPI_Query_thread(&queried));
    EQUAL(queried, provided);
    OK(MPI_Is_thread_main(&flag));
    EQUAL(flag, 1);
    if (provided >= MPI_THREAD_SERIALIZED) {
        pthread_t thread;
        EQUAL(pthread_create(&thread, NULL, other_thread, NULL), 0);
        EQUAL(pthread_join(thread, NULL), 0);
        EQUAL(turn_of_thread, 1);
        EQUAL(wrong, 0);
    }
    return finish();
}

// ranks: 1 2
// Several threads begin sessions at the same time (MPI-5.0 §11.3.1), and their error handlers do so again.
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <pthread.h>

enum { THREADS = 8, TIMES = 50 };

static pthread_barrier_t all_here;
static MPI_Session sessions[THREADS][TIMES], from_handler;

static void begin_one_more(MPI_Session *session, int *code, ...) {
    (void)session;
    (void)code;
    if (from_handler == MPI_SESSION_NULL)
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &from_handler);
}

static void *begin(void *own) {
    MPI_Session *mine = own;
    for (int i = 0; i < TIMES; i++) {
        pthread_barrier_wait(&all_here);
        if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &mine[i]) != MPI_SUCCESS)
            mine[i] = MPI_SESSION_NULL;
    }
    return NULL;
}

static void handlers(void) {
    MPI_Errhandler handler;
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Info info, freed;
    from_handler = MPI_SESSION_NULL;
    OK(MPI_Info_create(&info));
    freed = info;
    OK(MPI_Info_free(&info));
    OK(MPI_Session_create_errhandler(begin_one_more, &handler));
    CHECK(MPI_Session_init(freed, handler, &session) != MPI_SUCCESS, "there is no such info");
    CHECK(from_handler != MPI_SESSION_NULL, "the handler has begun a session");
    OK(MPI_Session_finalize(&from_handler));
    OK(MPI_Errhandler_free(&handler));
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    EQUAL(pthread_barrier_init(&all_here, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        EQUAL(pthread_create(&threads[i], NULL, begin, sessions[i]), 0);
    for (int i = 0; i < THREADS; i++)
        EQUAL(pthread_join(threads[i], NULL), 0);
    start(&argc, &argv);
    for (int i = 0; i < THREADS * TIMES; i++) {
        MPI_Session session = sessions[i / TIMES][i % TIMES];
        MPI_Group group;
        int members = -1;
        CHECK(session != MPI_SESSION_NULL, "session %d has begun", i);
        for (int j = 0; j < i; j++)
            CHECK(session != sessions[j / TIMES][j % TIMES], "sessions %d and %d are one", i, j);
        OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
        OK(MPI_Group_size(group, &members));
        EQUAL(members, size);
        OK(MPI_Group_free(&group));
    }
    for (int i = 0; i < THREADS * TIMES; i++)
        OK(MPI_Session_finalize(&sessions[i / TIMES][i % TIMES]));
    handlers();
    return finish();
}

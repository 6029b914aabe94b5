// ranks: 1 2 3
// What may be called at any time may be called by several threads, whatever the level of thread
// support: before MPI_Init, beside a thread that is inside another call, and after MPI_Finalize
// (MPI-5.0 §11.4.1, §11.6).
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 10000, KEPT = 3 };

static MPI_Session session = MPI_SESSION_NULL;
static atomic_int mistakes, session_calls, self_calls, working;
// Whether errors are returned: before MPI_Init they end the program.
static int errors_return;

// Threads count what is wrong, and main tells.
#define SOUND(condition)                                                                           \
    do {                                                                                           \
        if (!(condition) && atomic_fetch_add(&mistakes, 1) < MOST_LINES)                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
    } while (0)

// Error handlers run with nothing held: they may call the same procedures.
static void call_again(int code, int wanted) {
    MPI_Info info;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0, class = -1;
    SOUND(MPI_Error_class(code, &class) == MPI_SUCCESS && class == wanted);
    SOUND(MPI_Error_string(code, text, &length) == MPI_SUCCESS && length > 0);
    SOUND(MPI_Info_create(&info) == MPI_SUCCESS);
    SOUND(MPI_Info_free(&info) == MPI_SUCCESS);
}

static void on_session(MPI_Session *of, int *code, ...) {
    SOUND(*of == session);
    atomic_fetch_add(&session_calls, 1);
    call_again(*code, MPI_ERR_OTHER);
}

static void on_self(MPI_Comm *of, int *code, ...) {
    SOUND(*of == MPI_COMM_SELF);
    atomic_fetch_add(&self_calls, 1);
    call_again(*code, MPI_ERR_INFO_NOKEY);
}

static void holds(MPI_Info info, const char *key, const char *wanted) {
    char value[64] = "";
    int flag = 0, length = sizeof value, keys = -1;
    SOUND(MPI_Info_get_string(info, key, &length, value, &flag) == MPI_SUCCESS);
    SOUND(flag && strcmp(value, wanted) == 0);
    SOUND(MPI_Info_get_nkeys(info, &keys) == MPI_SUCCESS && keys == 1);
}

// Each thread's info objects hold what this thread put into them and nothing else.
static void infos(long thread, int round) {
    MPI_Info made[KEPT], copy, environment;
    char key[32], value[32], found[MPI_MAX_INFO_KEY + 1];
    snprintf(key, sizeof key, "k%ld", thread);
    snprintf(value, sizeof value, "%ld in %d", thread, round);
    for (int i = 0; i < KEPT; i++) {
        SOUND(MPI_Info_create(&made[i]) == MPI_SUCCESS);
        SOUND(MPI_Info_set(made[i], key, value) == MPI_SUCCESS);
    }
    SOUND(MPI_Info_dup(made[0], &copy) == MPI_SUCCESS);
    for (int i = 0; i < KEPT; i++) {
        holds(made[i], key, value);
        SOUND(MPI_Info_get_nthkey(made[i], 0, found) == MPI_SUCCESS && strcmp(found, key) == 0);
        SOUND(MPI_Info_delete(made[i], key) == MPI_SUCCESS);
        SOUND(MPI_Info_free(&made[i]) == MPI_SUCCESS && made[i] == MPI_INFO_NULL);
    }
    holds(copy, key, value);
    SOUND(MPI_Info_free(&copy) == MPI_SUCCESS);
    if (round % 64 == 0) {
        SOUND(MPI_Info_create_env(0, NULL, &environment) == MPI_SUCCESS);
        SOUND(MPI_Info_free(&environment) == MPI_SUCCESS);
    }
}

static void codes(long thread) {
    int class = -1, code = -1, got = -1, length = -1;
    char text[MPI_MAX_ERROR_STRING], wanted[32];
    snprintf(wanted, sizeof wanted, "of thread %ld", thread);
    SOUND(MPI_Add_error_class(&class) == MPI_SUCCESS);
    SOUND(MPI_Add_error_code(class, &code) == MPI_SUCCESS);
    SOUND(MPI_Add_error_string(code, wanted) == MPI_SUCCESS);
    SOUND(MPI_Error_class(code, &got) == MPI_SUCCESS && got == class);
    SOUND(MPI_Error_string(code, text, &length) == MPI_SUCCESS && strcmp(text, wanted) == 0);
    SOUND(MPI_Remove_error_string(code) == MPI_SUCCESS);
    SOUND(MPI_Remove_error_code(code) == MPI_SUCCESS);
    SOUND(MPI_Remove_error_class(class) == MPI_SUCCESS);
    SOUND(MPI_Error_string(MPI_ERR_RANK, text, &length) == MPI_SUCCESS && length > 0);
}

static void handlers(void) {
    MPI_Errhandler handler;
    SOUND(MPI_Session_create_errhandler(on_session, &handler) == MPI_SUCCESS);
    SOUND(handler != MPI_ERRHANDLER_NULL);
    SOUND(MPI_Errhandler_free(&handler) == MPI_SUCCESS && handler == MPI_ERRHANDLER_NULL);
    if (session != MPI_SESSION_NULL)
        SOUND(MPI_Session_call_errhandler(session, MPI_ERR_OTHER) == MPI_SUCCESS);
}

static void errors(void) {
    MPI_Info info;
    SOUND(MPI_Info_create(&info) == MPI_SUCCESS);
    MPI_Info_delete(info, "absent");
    SOUND(MPI_Info_free(&info) == MPI_SUCCESS);
}

static void *work(void *number) {
    long thread = (long)number;
    for (int round = 0; round < ROUNDS; round++) {
        int flag = -1, version = 0, subversion = -1;
        infos(thread, round);
        codes(thread);
        handlers();
        if (errors_return) errors();
        SOUND(MPI_Initialized(&flag) == MPI_SUCCESS && (flag == 0 || flag == 1));
        SOUND(MPI_Get_version(&version, &subversion) == MPI_SUCCESS && version >= 3);
    }
    atomic_fetch_sub(&working, 1);
    return NULL;
}

static void begin(pthread_t *threads) {
    working = THREADS;
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0) exit(9);
}

static void end(pthread_t *threads) {
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

// What main does meanwhile: it waits for others, and uses infos and error handlers itself.
static void communicate(void) {
    int left = 1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; left; round++) {
        int got = -1, mine = atomic_load(&working);
        MPI_Info hints, used;
        MPI_Comm comm;
        MPI_Errhandler found;
        char value[16] = "";
        int flag = 0, length = sizeof value;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Sendrecv(&round, 1, MPI_INT, next, 1, &got, 1, MPI_INT, before, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        EQUAL(got, round);
        OK(MPI_Info_create(&hints));
        OK(MPI_Info_set(hints, "mpi_assert_no_any_tag", "true"));
        OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, &comm));
        OK(MPI_Info_free(&hints));
        OK(MPI_Comm_get_info(comm, &used));
        OK(MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag));
        CHECK(flag && strcmp(value, "true") == 0, "the hint is \"%s\"", value);
        OK(MPI_Info_free(&used));
        OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &found));
        OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, found));
        OK(MPI_Errhandler_free(&found));
        OK(MPI_Comm_free(&comm));
        OK(MPI_Allreduce(&mine, &left, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    }
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    MPI_Errhandler of_session, of_self;
    begin(threads);
    end(threads);

    // MPI_Init asks for MPI_THREAD_SINGLE.
    start(&argc, &argv);
    OK(MPI_Session_create_errhandler(on_session, &of_session));
    OK(MPI_Session_init(MPI_INFO_NULL, of_session, &session));
    OK(MPI_Errhandler_free(&of_session));
    OK(MPI_Comm_create_errhandler(on_self, &of_self));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, of_self));
    OK(MPI_Errhandler_free(&of_self));
    errors_return = 1;
    begin(threads);
    communicate();
    end(threads);
    EQUAL(session_calls, THREADS * ROUNDS);
    EQUAL(self_calls, THREADS * ROUNDS);
    OK(MPI_Session_finalize(&session));
    session = MPI_SESSION_NULL;
    errors_return = 0;

    int code = finish();
    begin(threads);
    end(threads);
    return code != 0 || mistakes != 0;
}

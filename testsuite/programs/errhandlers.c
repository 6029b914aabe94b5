// ranks: 1 2
// Error handlers of one's own, error codes and their words (MPI-5.0 §9.3 to §9.5).
#include "check.h"

static int calls, last_code;
static MPI_Comm last_comm;

static void note(MPI_Comm *comm, int *code, ...) {
    calls++;
    last_code = *code;
    last_comm = *comm;
}

static void own_handler(void) {
    MPI_Comm comm;
    MPI_Errhandler handler, found;
    int word = 0, class = -1;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(note, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Comm_get_errhandler(comm, &found));
    CHECK(found == handler, "the handler that was set");
    OK(MPI_Errhandler_free(&found));
    OK(MPI_Errhandler_free(&handler));
    CHECK(handler == MPI_ERRHANDLER_NULL, "a freed handler is null");

    // It is called with the communicator and the code, and the program goes on.
    MPI_Send(&word, 1, MPI_INT, size + 7, 0, comm);
    EQUAL(calls, 1);
    CHECK(last_comm == comm, "the handler is told the communicator");
    OK(MPI_Error_class(last_code, &class));
    EQUAL(class, MPI_ERR_RANK);

    // A duplicate inherits it; being called by the user works too.
    MPI_Comm heir;
    OK(MPI_Comm_dup(comm, &heir));
    MPI_Send(&word, -1, MPI_INT, 0, 0, heir);
    EQUAL(calls, 2);
    FAILS(last_code, MPI_ERR_COUNT);
    CHECK(last_comm == heir, "the heir's handler is told the heir");
    OK(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    EQUAL(calls, 3);
    EQUAL(last_code, MPI_ERR_OTHER);
    OK(MPI_Comm_free(&heir));
    OK(MPI_Comm_free(&comm));
}

static void mends(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    *code = MPI_SUCCESS;
}

// What a handler leaves as the code is what the procedure returns (§9.3.1).
static void mended(void) {
    MPI_Comm comm;
    MPI_Errhandler handler;
    int word = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(mends, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Send(&word, 1, MPI_INT, size + 7, 0, comm));
    OK(MPI_Comm_free(&comm));
}

static void words(void) {
    static const int classes[] = {MPI_SUCCESS,   MPI_ERR_BUFFER,   MPI_ERR_COUNT, MPI_ERR_TYPE,
                                  MPI_ERR_TAG,   MPI_ERR_COMM,     MPI_ERR_RANK,  MPI_ERR_REQUEST,
                                  MPI_ERR_ROOT,  MPI_ERR_GROUP,    MPI_ERR_OP,    MPI_ERR_TOPOLOGY,
                                  MPI_ERR_ARG,   MPI_ERR_TRUNCATE, MPI_ERR_OTHER, MPI_ERR_INTERN,
                                  MPI_ERR_INFO_KEY, MPI_ERR_NO_MEM, MPI_ERR_WIN,  MPI_ERR_FILE};
    char text[MPI_MAX_ERROR_STRING];
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        int length = -1, class = -1;
        memset(text, 1, sizeof text);
        OK(MPI_Error_string(classes[i], text, &length));
        CHECK(length > 0 && length < MPI_MAX_ERROR_STRING, "class %d: length %d", classes[i],
              length);
        EQUAL(strlen(text), length);
        OK(MPI_Error_class(classes[i], &class));
        EQUAL(class, classes[i]);
    }
}

static void added(void) {
    int class = -1, code = -1, got = -1, length = -1, flag = 0, *last = NULL;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE, "class %d", class);
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "the ring is open"));
    OK(MPI_Error_class(code, &got));
    EQUAL(got, class);
    OK(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "the ring is open") == 0, "not \"%s\"", text);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
    CHECK(flag && *last >= class, "MPI_LASTUSEDCODE counts what was added");
    OK(MPI_Remove_error_string(code));
    OK(MPI_Remove_error_code(code));
    OK(MPI_Remove_error_class(class));
}

// What was begun on a communicator before it was freed still goes by its handler (MPI-5.0 §7.4.3).
static void after_free(void) {
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Message message;
    int two[2] = {1, 2}, got = 0, from = (rank + size - 1) % size;
    for (int round = 0; round < 40; round++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        OK(MPI_Irecv(&got, 1, MPI_INT, from, 0, comm, &requests[0]));
        OK(MPI_Isend(two, 2, MPI_INT, (rank + 1) % size, 0, comm, &requests[1]));
        OK(MPI_Send(two, 2, MPI_INT, rank, 1, comm));
        OK(MPI_Mprobe(rank, 1, comm, &message, MPI_STATUS_IGNORE));
        OK(MPI_Comm_free(&comm));
        FAILS(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        FAILS(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
}

static int heard;

static void frees(MPI_Comm *comm, int *code, ...) {
    MPI_Comm gone = *comm;
    heard += *code != MPI_SUCCESS;
    OK(MPI_Comm_free(&gone));
}

// A handler is told a communicator that has been freed, and frees it again.
static void freed_twice(void) {
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Request requests[2];
    int two[2] = {1, 2}, got = 0;
    OK(MPI_Comm_create_errhandler(frees, &handler));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Errhandler_free(&handler));
    for (int each = 0; each < 2; each++) {
        OK(MPI_Irecv(&got, 1, MPI_INT, 0, each, comm, &requests[each]));
        OK(MPI_Send(two, 2, MPI_INT, 0, each, comm));
    }
    OK(MPI_Comm_free(&comm));
    for (int each = 0; each < 2; each++) REFUSED(MPI_Wait(&requests[each], MPI_STATUS_IGNORE));
    EQUAL(heard, 2);
    // Nothing of it is in the way of others.
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_free(&comm));
}

// Errors of no object go by the handler of MPI_COMM_WORLD until MPI_COMM_SELF has been given one (§9.3).
static void of_no_object(void) {
    MPI_Datatype builtin = MPI_CXX_BOOL;
    MPI_Errhandler handler, found;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Type_free(&builtin), MPI_ERR_TYPE);
    CHECK(builtin == MPI_CXX_BOOL, "a predefined datatype stays");
    OK(MPI_Comm_create_errhandler(note, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    FAILS(MPI_Type_free(&builtin), MPI_ERR_TYPE);
    CHECK(calls == 1 && last_comm == MPI_COMM_WORLD, "MPI_COMM_WORLD hears");
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL, "the handler of MPI_COMM_SELF is what it was");
    OK(MPI_Errhandler_free(&found));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
    FAILS(MPI_Type_free(&builtin), MPI_ERR_TYPE);
    CHECK(calls == 2 && last_comm == MPI_COMM_SELF, "MPI_COMM_SELF hears");
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Errhandler found;
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL, "the default handler ends the job");
    OK(MPI_Errhandler_free(&found));
    of_no_object();
    calls = 0;
    own_handler();
    mended();
    after_free();
    freed_twice();
    words();
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    added();
    return finish();
}

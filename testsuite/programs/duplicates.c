// ranks: 1 2 4
// What becomes of attributes, hints and error handlers when communicators are duplicated and
// freed (MPI-5.0 §7.4.2 to §7.4.4, §7.7.2, §9.3), and the default error handler of files (§14.7).
#include "check.h"

static int copies, deletions, refuse_copy, refuse_delete, handled;

static int copy(MPI_Comm comm, int key, void *state, void *value, void *to, int *flag) {
    (void)comm, (void)key, (void)state;
    ++copies;
    *(void **)to = (char *)value + 1;
    *flag = 1;
    return refuse_copy;
}

static int drop(MPI_Comm comm, int key, void *value, void *state) {
    (void)comm, (void)key, (void)value, (void)state;
    if (refuse_delete == MPI_SUCCESS) ++deletions;
    return refuse_delete;
}

static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    ++handled;
}

static void handle_file(MPI_File *file, int *code, ...) {
    CHECK(*file == MPI_FILE_NULL, "another file");
    EQUAL(*code, MPI_ERR_IO);
    ++handled;
}

// Everyone's value goes around; a message to the wrong communicator would show.
static void usable(MPI_Comm comm) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, sum, got = -1;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, comm,
                    MPI_STATUS_IGNORE));
    EQUAL(got, left);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    EQUAL(sum, size * (size - 1) / 2);
}

static void attributes(void) {
    int key, flag;
    char here[2], *value;
    MPI_Comm base, dup;
    MPI_Request request;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &base));
    OK(MPI_Comm_set_errhandler(base, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(copy, drop, &key, NULL));
    OK(MPI_Comm_set_attr(base, key, here));
    OK(MPI_Comm_idup(base, &dup, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_get_attr(dup, key, &value, &flag));
    CHECK(flag && value == here + 1, "flag %d", flag);
    usable(dup);

    refuse_delete = MPI_ERR_OTHER;
    FAILS(MPI_Comm_free(&dup), MPI_ERR_OTHER);
    CHECK(dup != MPI_COMM_NULL, "freed in spite of the delete function");
    usable(dup);
    refuse_delete = MPI_SUCCESS;
    OK(MPI_Comm_disconnect(&dup));
    CHECK(dup == MPI_COMM_NULL, "not freed");
    EQUAL(deletions, 1);

    refuse_copy = MPI_ERR_BUFFER;
    FAILS(MPI_Comm_dup(base, &dup), MPI_ERR_BUFFER);
    refuse_copy = MPI_SUCCESS;
    EQUAL(copies, 2);
    OK(MPI_Comm_free_keyval(&key));
    EQUAL(key, MPI_KEYVAL_INVALID);
    OK(MPI_Comm_free(&base));
    EQUAL(deletions, 2);
}

static void hints(void) {
    MPI_Info info;
    MPI_Comm dup, plain;
    MPI_Request request;
    char value[8];
    int flag, length = sizeof value;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &dup, &request));
    OK(MPI_Info_free(&info));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_get_info(dup, &info));
    OK(MPI_Info_get_string(info, "mpi_assert_no_any_tag", &length, value, &flag));
    CHECK(flag && strcmp(value, "true") == 0, "flag %d", flag);
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_dup(dup, &plain));
    OK(MPI_Comm_get_info(plain, &info));
    length = sizeof value;
    OK(MPI_Info_get_string(info, "mpi_assert_no_any_tag", &length, value, &flag));
    CHECK(flag && strcmp(value, "false") == 0, "hints are not inherited");
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_free(&plain));
    OK(MPI_Comm_free(&dup));
}

// A handler that the program freed lives in the communicators that have it.
static void handlers(void) {
    MPI_Errhandler mine, files;
    MPI_Comm base, dup, part;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &base));
    OK(MPI_Comm_create_errhandler(handle, &mine));
    OK(MPI_Comm_set_errhandler(base, mine));
    OK(MPI_Errhandler_free(&mine));
    OK(MPI_Comm_dup(base, &dup));
    OK(MPI_Comm_split(base, 0, rank, &part));
    OK(MPI_Comm_free(&base));
    OK(MPI_Comm_free(&part));
    REFUSED(MPI_Send(NULL, 0, MPI_INT, size, 0, dup));
    EQUAL(handled, 1);
    OK(MPI_Comm_free(&dup));

    OK(MPI_File_create_errhandler(handle_file, &files));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, files));
    OK(MPI_Errhandler_free(&files));
    OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO));
    EQUAL(handled, 2);
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &files));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&files));
    CHECK(files == MPI_ERRHANDLER_NULL, "not freed");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    attributes();
    hints();
    handlers();
    return finish();
}

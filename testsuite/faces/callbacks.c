/* Functions of the program that the library calls get this ABI's handles and constants: reduction
   operations, attribute copy and delete functions, error handlers, generalized requests. */
#include "check.h"
#include <mpi.h>
#include <string.h>

static int operations_called, copies, deletions, errors;
static int state;

static void subtract(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int i;
    operations_called++;
    CHECK(*type == MPI_INT);
    for (i = 0; i < *len; i++)
        ((int *)inout)[i] = ((int *)in)[i] - ((int *)inout)[i];
}

static void operations(void)
{
    MPI_Op op;
    int commutes = 7, in[3] = {10, 20, 30}, inout[3] = {1, 2, 3};
    CHECK(MPI_Op_create(subtract, 0, &op) == MPI_SUCCESS);
    CHECK(op != MPI_OP_NULL);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(op)) == op);
    CHECK(MPI_Op_commutative(op, &commutes) == MPI_SUCCESS && !commutes);
    CHECK(MPI_Reduce_local(in, inout, 3, MPI_INT, op) == MPI_SUCCESS);
    CHECK(operations_called > 0 && inout[0] == 9 && inout[1] == 18 && inout[2] == 27);
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS && op == MPI_OP_NULL);
}

static int comm_key;

static int copy_comm(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    copies++;
    CHECK(comm == MPI_COMM_SELF);
    CHECK(key == comm_key);
    CHECK(extra == &state);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int key, void *value, void *extra)
{
    deletions++;
    CHECK(comm != MPI_COMM_NULL);
    CHECK(key == comm_key && extra == &state && value != NULL);
    return MPI_SUCCESS;
}

static void attributes(void)
{
    char base[2];
    void *value = NULL;
    int flag = 0, dup_key, null_key, *tag_ub = NULL;
    MPI_Comm comm;
    CHECK(MPI_Comm_create_keyval(copy_comm, delete_comm, &comm_key, &state) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, NULL) ==
          MPI_SUCCESS);
    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &null_key,
                                 NULL) == MPI_SUCCESS);
    CHECK(comm_key != MPI_KEYVAL_INVALID && comm_key != dup_key && dup_key != null_key);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, comm_key, base) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, dup_key, base) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, null_key, base) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &comm) == MPI_SUCCESS);
    CHECK(copies == 1);
    CHECK(MPI_Comm_get_attr(comm, comm_key, &value, &flag) == MPI_SUCCESS);
    CHECK(flag && value == base + 1);
    CHECK(MPI_Comm_get_attr(comm, dup_key, &value, &flag) == MPI_SUCCESS);
    CHECK(flag && value == base);
    CHECK(MPI_Comm_get_attr(comm, null_key, &value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    CHECK(deletions == 1);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_SELF, comm_key) == MPI_SUCCESS);
    CHECK(deletions == 2);
    CHECK(MPI_Comm_free_keyval(&comm_key) == MPI_SUCCESS && comm_key == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag) == MPI_SUCCESS);
    CHECK(flag && *tag_ub >= 32767);
}

static int expected;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int class = -1;
    errors++;
    CHECK(*comm == MPI_COMM_SELF);
    CHECK(MPI_Error_class(*code, &class) == MPI_SUCCESS && class == expected);
}

static void error_handlers(void)
{
    MPI_Errhandler handler;
    int buffer = 0;
    CHECK(MPI_Comm_create_errhandler(on_error, &handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(handler)) == handler);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) == MPI_SUCCESS);
    expected = MPI_ERR_OTHER;
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER) == MPI_SUCCESS);
    CHECK(errors == 1);
    expected = MPI_ERR_RANK;
    MPI_Send(&buffer, 1, MPI_INT, 99, 0, MPI_COMM_SELF);
    CHECK(errors == 2);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS && handler == MPI_ERRHANDLER_NULL);
}

static int query(void *extra, MPI_Status *status)
{
    CHECK(extra == &state);
    CHECK(MPI_Status_set_elements(status, MPI_INT, 5) == MPI_SUCCESS);
    CHECK(MPI_Status_set_cancelled(status, 1) == MPI_SUCCESS);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    CHECK(extra == &state);
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

static void generalized_requests(void)
{
    MPI_Request request;
    MPI_Status status;
    int count = 0, cancelled = 0;
    CHECK(MPI_Grequest_start(query, release, cancel, &state, &request) == MPI_SUCCESS);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(request)) == request);
    CHECK(MPI_Grequest_complete(request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 4);
    CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == 5);
    CHECK(MPI_Test_cancelled(&status, &cancelled) == MPI_SUCCESS && cancelled);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    operations();
    attributes();
    error_handlers();
    generalized_requests();
    MPI_Finalize();
    if (!bad)
        puts("ok");
    return bad;
}

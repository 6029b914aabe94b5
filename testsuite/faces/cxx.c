/* What Open MPI 4's C++ binding (Debian's libmpi_cxx.so.40) asks of libmpi.so.40, asked in its place: an
   intercept for all reduction functions of C++, attribute keys, errors that it found itself. */
#include "check.h"
#include <mpi.h>

typedef void combine(const int *in, int *inout, int len);

void ompi_op_set_cxx_callback(MPI_Op op, void (*function)(void));
int ompi_attr_create_keyval(int kind, void *copy, void *delete, int *key, void *extra, int flags,
                            void *binding);
int ompi_errhandler_invoke(MPI_Errhandler handler, void *object, int kind, int code,
                           const char *message);
extern int ompi_errcode_intern_lastused;
extern struct ompi_predefined_errhandler_t ompi_mpi_errors_throw_exceptions;

/* The binding's: the library finds it by this name. */
void ompi_mpi_cxx_op_intercept(void *in, void *inout, int *len, MPI_Datatype *type,
                               combine *function)
{
    CHECK(*type == MPI_INT);
    function(in, inout, *len);
}

static void add(const int *in, int *inout, int len)
{
    int i;
    for (i = 0; i < len; i++)
        inout[i] += in[i];
}

static void multiply(const int *in, int *inout, int len)
{
    int i;
    for (i = 0; i < len; i++)
        inout[i] *= in[i];
}

static MPI_Op make(combine *function)
{
    MPI_Op op = MPI_OP_NULL;
    CHECK(MPI_Op_create((MPI_User_function *)ompi_mpi_cxx_op_intercept, 1, &op) == MPI_SUCCESS);
    ompi_op_set_cxx_callback(op, (void (*)(void))function);
    return op;
}

static int deleted, errors;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    CHECK(comm == MPI_COMM_SELF && key != MPI_KEYVAL_INVALID && value == extra);
    deleted++;
    return MPI_SUCCESS;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_SELF && *code == MPI_ERR_TAG);
    errors++;
}

int main(int argc, char **argv)
{
    int in = 5, inout = 7, key = MPI_KEYVAL_INVALID;
    MPI_Op sum, product;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);

    sum = make(add);
    product = make(multiply);
    CHECK(MPI_Reduce_local(&in, &inout, 1, MPI_INT, sum) == MPI_SUCCESS && inout == 12);
    CHECK(MPI_Reduce_local(&in, &inout, 1, MPI_INT, product) == MPI_SUCCESS && inout == 60);
    CHECK(MPI_Op_free(&sum) == MPI_SUCCESS && MPI_Op_free(&product) == MPI_SUCCESS);

    CHECK(ompi_attr_create_keyval(1, MPI_COMM_NULL_COPY_FN, on_delete, &key, &key, 0, NULL) == 0);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &key) == MPI_SUCCESS);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_SELF, key) == MPI_SUCCESS && deleted == 1);

    CHECK(MPI_Comm_create_errhandler(on_error, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) == MPI_SUCCESS);
    ompi_errhandler_invoke(NULL, MPI_COMM_SELF, 0, MPI_ERR_TAG, "");
    CHECK(errors == 1);
    CHECK(ompi_errcode_intern_lastused == 0);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF,
                                  (MPI_Errhandler)&ompi_mpi_errors_throw_exceptions) == MPI_SUCCESS);
    MPI_Finalize();
    if (!bad)
        puts("ok");
    return bad;
}

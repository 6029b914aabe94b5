/* What Open MPI 4's C++ binding (Debian's libmpi_cxx.so.40) asks of libmpi.so.40, asked in its place: an
   intercept for all reduction functions of C++, attribute keys, errors that it found itself, and errors that it would
   throw. With an argument the program has no binding, and such an error ends it. */
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

static void *thrown_at;
static int thrown;

static void on_throw(void *object, int *code, ...)
{
    thrown_at = *(void **)object;
    thrown = *code;
}

static void try_throwing(int has_binding)
{
    MPI_Errhandler throwing = (MPI_Errhandler)&ompi_mpi_errors_throw_exceptions, found;
    /* For communicators, files and windows, where the binding has them written. */
    void (**functions)(void *, int *, ...) = (void (**)(void *, int *, ...))((char *)throwing + 0x58);
    int word = 0, i;
    MPI_Win win;
    for (i = 0; has_binding && i < 3; i++)
        functions[i] = on_throw;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, throwing) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &found) == MPI_SUCCESS && found == throwing);
    CHECK(MPI_Send(&word, 1, MPI_INT, 7, 0, MPI_COMM_SELF) == MPI_ERR_RANK);
    CHECK(thrown == MPI_ERR_RANK && thrown_at == (void *)MPI_COMM_SELF);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER) == MPI_SUCCESS);
    CHECK(thrown == MPI_ERR_OTHER);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, throwing) == MPI_SUCCESS);
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_FILE) == MPI_SUCCESS);
    CHECK(thrown == MPI_ERR_FILE && thrown_at == (void *)MPI_FILE_NULL);
    CHECK(MPI_Win_allocate_shared(4, 1, MPI_INFO_NULL, MPI_COMM_SELF, &functions, &win) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(win, throwing) == MPI_SUCCESS);
    CHECK(MPI_Win_call_errhandler(win, MPI_ERR_DISP) == MPI_SUCCESS);
    CHECK(thrown == MPI_ERR_DISP && thrown_at == (void *)win);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
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
    try_throwing(argc == 1);
    MPI_Finalize();
    if (!bad)
        puts("ok");
    return bad;
}

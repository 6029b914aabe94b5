/* What only programs of MPICH's ABI name: the hooks by which its binding for C++ (libmpicxx.so.12) says
   how functions of C++ are called, asked in its place; where Fortran's special variables are; a
   query of MPICH's own. */
#include "check.h"
#include <mpi.h>

static int errors, deleted;

void MPII_Op_set_cxx(MPI_Op op, void (*proxy)(void));
void MPII_Errhandler_set_cxx(MPI_Errhandler handler, void (*proxy)(void));
void MPII_Keyval_set_proxy(int key, void *copy, void *remove);
int MPIX_GPU_query_support(int kind, int *is_supported);

/* The common blocks of Fortran programs. */
extern int mpipriv1_[7], mpipriv2_[6];
extern char mpiprivc_[2];
extern MPI_Fint *MPI_F_ERRCODES_IGNORE;
extern void *MPI_F_ARGVS_NULL;

typedef void combine(const void *in, void *inout, int len);

static void multiply(const void *in, void *inout, int len)
{
    int i;
    for (i = 0; i < len; i++)
        ((int *)inout)[i] *= ((const int *)in)[i];
}

static void combined(const void *in, void *inout, int len, MPI_Datatype type, combine *user)
{
    CHECK(type == MPI_INT && user == multiply);
    user(in, inout, len);
}

static void plain(void *in, void *inout, int *len, MPI_Datatype *type)
{
    CHECK(*len == 1 && *type == MPI_INT);
    *(int *)inout += *(int *)in;
}

static void ops(void)
{
    int in = 5, inout = 7;
    MPI_Op op;
    MPI_Op_create((MPI_User_function *)multiply, 1, &op);
    MPII_Op_set_cxx(op, (void (*)(void))combined);
    CHECK(MPI_Reduce_local(&in, &inout, 1, MPI_INT, op) == MPI_SUCCESS && inout == 35);
    MPI_Op_free(&op);
    /* Most likely the same handle, for a function of C. */
    MPI_Op_create(plain, 1, &op);
    CHECK(MPI_Reduce_local(&in, &inout, 1, MPI_INT, op) == MPI_SUCCESS && inout == 40);
    MPI_Op_free(&op);
}

static void hear(void)
{
}

static void heard(int kind, int *handle, int *code, void (*user)(void))
{
    CHECK(kind == 0 && *handle == MPI_COMM_SELF && *code == MPI_ERR_TAG && user == hear);
    errors++;
}

static void heard_of_file(int kind, MPI_File *file, int *code, void (*user)(void))
{
    CHECK(kind == 1 && *file == MPI_FILE_NULL && *code == MPI_ERR_IO && user == hear);
    errors++;
}

static void errhandlers(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)hear, &handler);
    MPII_Errhandler_set_cxx(handler, (void (*)(void))heard);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_TAG);
    CHECK(errors == 1);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_File_create_errhandler((MPI_File_errhandler_function *)hear, &handler);
    MPII_Errhandler_set_cxx(handler, (void (*)(void))heard_of_file);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO);
    CHECK(errors == 2);
}

static int key, extra;

static void copy(void)
{
}

static void remove_(void)
{
}

static int copied(void (*user)(void), int object, int of, void *state, int how, void *value,
                  void **to, int *flag)
{
    CHECK(user == copy && object == MPI_COMM_SELF && of == key && state == &extra && how == 0);
    *to = (char *)value + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int removed(void (*user)(void), int object, int of, int how, void *value, void *state)
{
    CHECK(user == remove_ && of == key && state == &extra && how == 0 && value != NULL);
    CHECK(object != MPI_COMM_NULL);
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    MPI_Comm twin;
    char *value = NULL;
    int flag = 0;
    MPI_Comm_create_keyval((MPI_Comm_copy_attr_function *)copy,
                           (MPI_Comm_delete_attr_function *)remove_, &key, &extra);
    MPII_Keyval_set_proxy(key, copied, removed);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &extra);
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    CHECK(MPI_Comm_get_attr(twin, key, &value, &flag) == MPI_SUCCESS && flag);
    CHECK(value == (char *)&extra + 1);
    MPI_Comm_free(&twin);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    CHECK(deleted == 2);
}

int main(int argc, char **argv)
{
    int is_supported = 1;
    MPI_Init(&argc, &argv);
    ops();
    errhandlers();
    attributes();
    CHECK(MPIX_GPU_query_support(0, &is_supported) == MPI_SUCCESS && is_supported == 0);
    CHECK(MPI_F_STATUS_IGNORE == mpipriv1_ + 2 && MPI_F_STATUSES_IGNORE == mpipriv2_);
    CHECK(MPI_F_ERRCODES_IGNORE == mpipriv2_ + 5 && MPI_F_ARGVS_NULL == mpiprivc_);
    MPI_Finalize();
    if (!bad)
        puts("ok");
    return bad;
}

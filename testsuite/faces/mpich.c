/* What only programs of MPICH's ABI name: the hooks by which its binding for C++ (libmpicxx.so.12) says
   how functions of C++ are called, asked in its place; where Fortran's special variables are; a
   query of MPICH's own; what the modules of Intel's compiler name. */
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

/* Of Intel's Fortran modules. */
extern const MPI_Fint mpi_f08_compile_constants_mp_mpi_comm_world_, mpi_f08_compile_constants_mp_mpi_comm_self_;
MPI_Fint mpi_f08_types_mp_mpi_comm_eq_(const MPI_Fint *one, const MPI_Fint *other);
MPI_Fint mpi_f08_types_mp_mpi_comm_f08_ne_f_(const MPI_Fint *one, const MPI_Fint *other);
MPI_Fint mpi_f08_types_mp_mpi_comm_c2f_(const MPI_Comm *comm);
void mpi_f08_types_mp_mpi_status_c_assgn_f08_(MPI_Status *to, const MPI_Fint *from);
void mpi_comm_toint_(const MPI_Fint *comm, MPI_Fint *number);
void mpix_query_cuda_support_(MPI_Fint *answer);
void mpix_comm_agree_(const MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *ierror);
void mpi_send_f08ts_(void *descriptor, const MPI_Fint *count, const MPI_Fint *type, const MPI_Fint *dest,
                     const MPI_Fint *tag, const MPI_Fint *comm, MPI_Fint *ierror);

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

/* Every second of an array, as Intel's compiler describes it: address, bytes of an element, offset, flags, rank,
   a word, and for the dimension extent, bytes between elements and lower bound. */
static void section(void)
{
    int i, words[6] = {1, 2, 3, 4, 5, 6}, got[3] = {0, 0, 0};
    MPI_Fint count = 3, type = MPI_INT, zero = 0, comm = MPI_COMM_SELF, ierror = -1;
    long descriptor[] = {(long)words, sizeof *words, -8, 1, 1, 0, 3, 2 * sizeof *words, 1};
    MPI_Request request;
    MPI_Irecv(got, 3, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    mpi_send_f08ts_(descriptor, &count, &type, &zero, &zero, &comm, &ierror);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(ierror == MPI_SUCCESS);
    for (i = 0; i < 3; i++)
        CHECK(got[i] == 2 * i + 1);
}

static void of_intel_s_modules(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Fint number = 0, answer = 1, ierror = 0, fields[] = {12, 0, 3, 4, 5};
    const MPI_Fint *one = &mpi_f08_compile_constants_mp_mpi_comm_world_;
    MPI_Status status;
    CHECK(*one == MPI_Comm_c2f(MPI_COMM_WORLD));
    CHECK(mpi_f08_types_mp_mpi_comm_eq_(one, one) & 1);
    CHECK(mpi_f08_types_mp_mpi_comm_f08_ne_f_(one, &mpi_f08_compile_constants_mp_mpi_comm_self_) & 1);
    CHECK(mpi_f08_types_mp_mpi_comm_c2f_(&world) == *one);
    mpi_f08_types_mp_mpi_status_c_assgn_f08_(&status, fields);
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == 5);
    mpi_comm_toint_(one, &number);
    CHECK(number == *one);
    mpix_query_cuda_support_(&answer);
    CHECK(answer == 0);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    mpix_comm_agree_(one, &answer, &ierror);
    CHECK(ierror == MPI_ERR_UNSUPPORTED_OPERATION);
    section();
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
    of_intel_s_modules();
    MPI_Finalize();
    if (!bad)
        puts("ok");
    return bad;
}

/* Handles and statuses as the program and the library see them: every predefined handle comes back
   from the library as the one that the program named, which on the Open MPI ABI is the address of an
   object that the executable may have copied into itself. */
#include "check.h"
#include <mpi.h>
#include <string.h>

#define SAME(kind, handle) CHECK(MPI_##kind##_f2c(MPI_##kind##_c2f(handle)) == (handle))

static void datatypes(void)
{
    MPI_Datatype all[] = {
        MPI_DATATYPE_NULL, MPI_CHAR, MPI_INT, MPI_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE,
        MPI_BYTE, MPI_PACKED, MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT,
        MPI_LONG_DOUBLE_INT, MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_COMPLEX, MPI_C_BOOL, MPI_COUNT,
        MPI_INT64_T, MPI_UINT8_T, MPI_C_DOUBLE_COMPLEX, MPI_AINT, MPI_OFFSET, MPI_WCHAR,
    };
    unsigned i, k, n = sizeof all / sizeof all[0];
    for (i = 0; i < n; i++) {
        SAME(Type, all[i]);
        for (k = 0; k < i; k++)
            CHECK(MPI_Type_c2f(all[i]) != MPI_Type_c2f(all[k]));
    }
}

static void operations(void)
{
    MPI_Op all[] = {
        MPI_OP_NULL, MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR,
        MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP,
    };
    unsigned i;
    for (i = 0; i < sizeof all / sizeof all[0]; i++)
        SAME(Op, all[i]);
}

static void others(void)
{
    SAME(Comm, MPI_COMM_NULL);
    SAME(Comm, MPI_COMM_WORLD);
    SAME(Comm, MPI_COMM_SELF);
    SAME(Group, MPI_GROUP_NULL);
    SAME(Group, MPI_GROUP_EMPTY);
    SAME(Errhandler, MPI_ERRHANDLER_NULL);
    SAME(Errhandler, MPI_ERRORS_ARE_FATAL);
    SAME(Errhandler, MPI_ERRORS_RETURN);
    SAME(Errhandler, MPI_ERRORS_ABORT);
    SAME(Info, MPI_INFO_NULL);
    SAME(Info, MPI_INFO_ENV);
    SAME(Request, MPI_REQUEST_NULL);
    SAME(Message, MPI_MESSAGE_NULL);
    SAME(Message, MPI_MESSAGE_NO_PROC);
    SAME(Win, MPI_WIN_NULL);
    SAME(File, MPI_FILE_NULL);
    SAME(Session, MPI_SESSION_NULL);
}

static void statuses(void)
{
    MPI_Status from, to;
    MPI_Fint fortran[MPI_F_STATUS_SIZE];
    memset(&from, 0, sizeof from);
    memset(&to, 0xff, sizeof to);
    from.MPI_SOURCE = 17;
    from.MPI_TAG = 18;
    from.MPI_ERROR = 19;
    CHECK(sizeof fortran == sizeof from);
    CHECK(MPI_Status_c2f(&from, fortran) == MPI_SUCCESS);
    CHECK(fortran[MPI_F_SOURCE] == 17);
    CHECK(fortran[MPI_F_TAG] == 18);
    CHECK(fortran[MPI_F_ERROR] == 19);
    CHECK(MPI_Status_f2c(fortran, &to) == MPI_SUCCESS);
    CHECK(memcmp(&from, &to, sizeof to) == 0);
}

int main(void)
{
    datatypes();
    operations();
    others();
    statuses();
    CHECK(MPI_F_STATUS_IGNORE != MPI_F_STATUSES_IGNORE);
    CHECK((void *)MPI_UNWEIGHTED != (void *)MPI_WEIGHTS_EMPTY);
    if (!bad)
        puts("ok");
    return bad;
}

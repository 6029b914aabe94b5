// ranks: 1
// Handles as integers: to a Fortran program and back (MPI-5.0 §19.3.4, and the ABI's own pairs).
#include "check.h"

#define SAME(handle, back) CHECK((back) == (handle), "%s does not come back", #handle)

int main(int argc, char **argv) {
    start(&argc, &argv);
    SAME(MPI_COMM_WORLD, MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)));
    SAME(MPI_COMM_NULL, MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_NULL)));
    SAME(MPI_DOUBLE, MPI_Type_fromint(MPI_Type_toint(MPI_DOUBLE)));
    SAME(MPI_SUM, MPI_Op_fromint(MPI_Op_toint(MPI_SUM)));
    SAME(MPI_GROUP_EMPTY, MPI_Group_fromint(MPI_Group_toint(MPI_GROUP_EMPTY)));
    SAME(MPI_REQUEST_NULL, MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)));
    SAME(MPI_INFO_NULL, MPI_Info_fromint(MPI_Info_toint(MPI_INFO_NULL)));
    SAME(MPI_ERRORS_RETURN, MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)));
    SAME(MPI_MESSAGE_NO_PROC, MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC)));

    SAME(MPI_FILE_NULL, MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)));
    SAME(MPI_SESSION_NULL, MPI_Session_fromint(MPI_Session_toint(MPI_SESSION_NULL)));
    SAME(MPI_WIN_NULL, MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)));

    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Group group;
    MPI_Info info;
    int word = 0;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Recv_init(&word, 1, MPI_INT, 0, 1, comm, &request));
    OK(MPI_Comm_group(comm, &group));
    OK(MPI_Info_create(&info));
    SAME(comm, MPI_Comm_fromint(MPI_Comm_toint(comm)));
    SAME(type, MPI_Type_fromint(MPI_Type_toint(type)));
    SAME(request, MPI_Request_fromint(MPI_Request_toint(request)));
    SAME(group, MPI_Group_fromint(MPI_Group_toint(group)));
    SAME(info, MPI_Info_fromint(MPI_Info_toint(info)));
    CHECK(MPI_Comm_toint(comm) != MPI_Comm_toint(MPI_COMM_SELF), "different numbers");

    // The predefined numbers of the standard's ABI (MPI-5.0 §20).
    EQUAL(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
    EQUAL(MPI_Type_toint(MPI_INT), 0x209);
    EQUAL(MPI_Op_toint(MPI_SUM), 0x21);
    int major = -9, minor = -9;
    OK(MPI_Abi_get_version(&major, &minor));
    EQUAL(major, 1);
    EQUAL(minor, 0);
    OK(MPI_Info_free(&info));
    OK(MPI_Group_free(&group));
    OK(MPI_Request_free(&request));
    OK(MPI_Type_free(&type));
    OK(MPI_Comm_free(&comm));
    return finish();
}

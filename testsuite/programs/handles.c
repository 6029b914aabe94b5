// ranks: 1
// Handles as integers: to a Fortran program and back (MPI-5.0 §19.3.4, and the ABI's own pairs).
#include "check.h"

#define ROUND_TRIP(KIND, TYPE, handle)                                                             \
    do {                                                                                           \
        TYPE back_ = MPI_##KIND##_fromint(MPI_##KIND##_toint(handle));                             \
        CHECK(back_ == (handle), "%s does not come back", #handle);                                \
    } while (0)

int main(int argc, char **argv) {
    start(&argc, &argv);
    ROUND_TRIP(Comm, MPI_Comm, MPI_COMM_WORLD);
    ROUND_TRIP(Comm, MPI_Comm, MPI_COMM_NULL);
    ROUND_TRIP(Type, MPI_Datatype, MPI_DOUBLE);
    ROUND_TRIP(Op, MPI_Op, MPI_SUM);
    ROUND_TRIP(Group, MPI_Group, MPI_GROUP_EMPTY);
    ROUND_TRIP(Request, MPI_Request, MPI_REQUEST_NULL);
    ROUND_TRIP(Info, MPI_Info, MPI_INFO_NULL);
    ROUND_TRIP(Errhandler, MPI_Errhandler, MPI_ERRORS_RETURN);
    ROUND_TRIP(Message, MPI_Message, MPI_MESSAGE_NO_PROC);

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
    ROUND_TRIP(Comm, MPI_Comm, comm);
    ROUND_TRIP(Type, MPI_Datatype, type);
    ROUND_TRIP(Request, MPI_Request, request);
    ROUND_TRIP(Group, MPI_Group, group);
    ROUND_TRIP(Info, MPI_Info, info);
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

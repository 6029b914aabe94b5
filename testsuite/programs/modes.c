// ranks: 2 4
// The four send modes, blocking and nonblocking, between neighbours of a ring (MPI-5.0 §3.4, §3.7).
#include "check.h"

typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static send_function *const blocking[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
static isend_function *const immediate[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
static const char *const names[] = {"standard", "synchronous", "buffered", "ready"};
static const int lengths[] = {0, 1, 8, 100, 4096, 70000, 1 << 20};

enum { READY = 3, MODES = 4, LENGTHS = sizeof lengths / sizeof *lengths, MOST = 1 << 20 };

static unsigned char *out, *in;

// A receive is posted first, and its readiness told by a token, so ready mode is correct too.
static void round_of(int mode, int length, int use_immediate) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, tag = mode;
    int token = 0;
    MPI_Request receive, request;
    fill(out, (size_t)length, rank + mode);
    memset(in, 0, (size_t)length);
    OK(MPI_Irecv(in, length, MPI_BYTE, previous, tag, MPI_COMM_WORLD, &receive));
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, previous, 99, &token, 1, MPI_INT, next, 99, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    EQUAL(token, next);
    if (use_immediate) {
        OK(immediate[mode](out, length, MPI_BYTE, next, tag, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL, "a completed request is null");
    } else {
        OK(blocking[mode](out, length, MPI_BYTE, next, tag, MPI_COMM_WORLD));
    }
    memset(out, 0xee, (size_t)length); // the send is complete: the buffer is ours again
    MPI_Status status;
    OK(MPI_Wait(&receive, &status));
    EQUAL(status.MPI_SOURCE, previous);
    CHECK(wrong_at(in, (size_t)length, previous + mode) < 0, "%s mode, %d bytes, immediate %d",
          names[mode], length, use_immediate);
}

// A synchronous send does not complete before its receive has started.
static void synchronous_waits(void) {
    int value = 5, flag = 0;
    MPI_Request request;
    if (rank == 0) {
        OK(MPI_Issend(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request));
        for (int i = 0; i < 1000; i++) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        EQUAL(flag, 0);
        OK(MPI_Send(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (rank == 1) {
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        EQUAL(value, 5);
    }
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    out = malloc(MOST);
    in = malloc(MOST);
    int room = 2 * (MOST + MPI_BSEND_OVERHEAD);
    void *attached = malloc((size_t)room);
    OK(MPI_Buffer_attach(attached, room));
    for (int mode = 0; mode < MODES; mode++)
        for (int i = 0; i < LENGTHS; i++) {
            round_of(mode, lengths[i], 0);
            round_of(mode, lengths[i], 1);
        }
    OK(MPI_Buffer_detach(&attached, &room));
    free(attached);
    synchronous_waits();
    free(out);
    free(in);
    return finish();
}

// ranks: 2 3 4
// Messages of every length near the limits of the ways that they may take (a line, a slot, a
// piece, a chunk, the eager limit, many chunks) keep their bytes: expected and unexpected, many
// at once in both directions, from and to memory with gaps, truncated, received by wildcard
// (MPI-5.0 §3.2, §3.5, §3.7). The pattern depends on the sender, the length and the place, so
// that a piece in a wrong place shows.
#include "check.h"

enum { MOST = 3 << 20, MANY = 24, ROUNDS = 60 };

static unsigned state = 12345;

static unsigned draw(unsigned below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static unsigned char mixed(int from, size_t length, size_t at) {
    size_t mix = at * 2654435761u + (size_t)from * 97 + length * 31;
    return (unsigned char)(mix >> 7 ^ at);
}

static void lay(unsigned char *bytes, int from, size_t length) {
    for (size_t at = 0; at < length; at++) bytes[at] = mixed(from, length, at);
}

static void compare(const unsigned char *bytes, int from, size_t length, size_t room) {
    for (size_t at = 0; at < length; at++) {
        if (bytes[at] != mixed(from, length, at)) {
            CHECK(0, "%zu bytes from %d are wrong from %zu on", length, from, at);
            return;
        }
    }
    for (size_t at = length; at < room; at++) {
        if (bytes[at] != 0xee) {
            CHECK(0, "%zu bytes from %d ran over, to %zu", length, from, at);
            return;
        }
    }
}

static const size_t edges[] = {40,    64,    2048,   4096,   8192,    12288,  16384,
                               24576, 32768, 65536,  131072, 262144,  524288, 1048576};
enum { EDGES = sizeof edges / sizeof *edges };

static size_t length_of(int round) {
    size_t edge = edges[(unsigned)round % EDGES];
    return round % 3 == 0 ? edge : edge - 3 + draw(7) + (round % 3 == 2 ? draw(edge / 2) : 0);
}

// Everyone to the next rank, one message a round, posted before or after it is sent.
static void ring_of(int late, unsigned char *out, unsigned char *in) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int round = 0; round < ROUNDS; round++) {
        size_t length = length_of(round);
        MPI_Request requests[2];
        MPI_Status status;
        int count;
        lay(out, rank, length);
        memset(in, 0xee, length + 64);
        if (!late) {
            OK(MPI_Irecv(in, (int)length + 64, MPI_BYTE, round % 2 ? before : MPI_ANY_SOURCE, round,
                         MPI_COMM_WORLD, &requests[0]));
            if (round % 4 == 0) OK(MPI_Barrier(MPI_COMM_WORLD));
        }
        OK(MPI_Isend(out, (int)length, MPI_BYTE, next, round, MPI_COMM_WORLD, &requests[1]));
        if (late) {
            // The message is on its way before the receive is posted.
            OK(MPI_Barrier(MPI_COMM_WORLD));
            OK(MPI_Irecv(in, (int)length + 64, MPI_BYTE, MPI_ANY_SOURCE, round, MPI_COMM_WORLD,
                         &requests[0]));
        }
        OK(MPI_Wait(&requests[0], &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        EQUAL(count, length);
        EQUAL(status.MPI_SOURCE, before);
        compare(in, before, length, length + 64);
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
}

// Many of random lengths both ways at once between neighbours, received in another order.
static void crossfire(void) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    unsigned char *out[MANY], *in[MANY];
    size_t length[MANY];
    MPI_Request requests[2 * MANY];
    for (int i = 0; i < MANY; i++) {
        length[i] = length_of(i) / 2 + draw(5000);
        out[i] = malloc(length[i]);
        in[i] = malloc(length[i] + 8);
        lay(out[i], rank, length[i]);
        memset(in[i], 0xee, length[i] + 8);
    }
    for (int i = 0; i < MANY; i++)
        OK(MPI_Isend(out[i], (int)length[i], MPI_BYTE, next, i, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < MANY; i++) {
        int k = (i * 7 + 5) % MANY;
        OK(MPI_Irecv(in[k], (int)length[k] + 8, MPI_BYTE, before, k, MPI_COMM_WORLD,
                     &requests[MANY + k]));
    }
    OK(MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++) {
        compare(in[i], before, length[i], length[i] + 8);
        free(out[i]);
        free(in[i]);
    }
}

// From every other pair of bytes to every third, so that both ends gather.
static void with_gaps(unsigned char *out, unsigned char *in) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int n = 1000; n < 200000; n = n * 3 + 1) {
        MPI_Datatype there, here;
        OK(MPI_Type_vector(n, 2, 4, MPI_BYTE, &there));
        OK(MPI_Type_vector(n, 2, 3, MPI_BYTE, &here));
        OK(MPI_Type_commit(&there));
        OK(MPI_Type_commit(&here));
        for (int i = 0; i < 2 * n; i++) out[i / 2 * 4 + i % 2] = mixed(rank, n, i);
        memset(in, 0xee, (size_t)n * 3);
        OK(MPI_Sendrecv(out, 1, there, next, n, in, 1, here, before, n, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        int wrong = 0;
        for (int i = 0; i < 2 * n; i++) wrong += in[i / 2 * 3 + i % 2] != mixed(before, n, i);
        for (int i = 0; i < n - 1; i++) wrong += in[i * 3 + 2] != 0xee;
        EQUAL(wrong, 0);
        OK(MPI_Type_free(&there));
        OK(MPI_Type_free(&here));
    }
}

// A receive that is too short gets what fits, and the next message is whole again.
static void too_long(unsigned char *out, unsigned char *in) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (size_t length = 5000; length < MOST; length *= 5) {
        MPI_Request request;
        memset(in, 0xee, length);
        OK(MPI_Irecv(in, (int)(length / 2), MPI_BYTE, before, 1, MPI_COMM_WORLD, &request));
        lay(out, rank, length);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Send(out, (int)length, MPI_BYTE, next, 1, MPI_COMM_WORLD));
        FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
        for (size_t at = length / 2; at < length; at++) {
            if (in[at] != 0xee) {
                CHECK(0, "a truncated message of %zu ran over", length);
                break;
            }
        }
        OK(MPI_Sendrecv(out, (int)length, MPI_BYTE, next, 2, in, (int)length, MPI_BYTE, before, 2,
                        MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        compare(in, before, length, length);
    }
}

int main(int argc, char **argv) {
    unsigned char *out = malloc(MOST), *in = malloc(MOST), *shared;
    start(&argc, &argv);
    ring_of(0, out, in);
    ring_of(1, out, in);
    for (int i = 0; i < 3; i++) crossfire();
    with_gaps(out, in);
    too_long(out, in);
    OK(MPI_Alloc_mem(MOST, MPI_INFO_NULL, &shared));
    ring_of(0, shared, in);
    OK(MPI_Free_mem(shared));
    free(out);
    free(in);
    return finish();
}

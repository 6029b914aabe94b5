// ranks: 1 2 4
// What has begun goes on while a program makes no call, if a thread of the library looks after it
// (FERRITE_PROGRESS=thread); without one it goes on in the next call (MPI-5.0 §3.7.4, §6.12).
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <sys/resource.h>
#include <time.h>

enum { LONG = 3 << 20, TIMES = 20 };

static unsigned char out[LONG], in[LONG];
static int has_thread;

// Waits without a call until a byte in the memory of a receive is as it should be.
static void appears(const void *place, int wanted) {
    const volatile unsigned char *byte = place;
    time_t end = time(NULL) + 30;
    while (has_thread && *byte != (unsigned char)wanted && time(NULL) < end) {
    }
    CHECK(!has_thread || *byte == (unsigned char)wanted, "it came while nobody called");
}

// Long messages, which wait for their receiver, round a ring.
static void messages(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < TIMES; i++) {
        MPI_Request requests[2];
        memset(in, 255, LONG);
        memset(out, i, LONG);
        OK(MPI_Irecv(in, LONG, MPI_BYTE, left, i, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Isend(out, LONG, MPI_BYTE, right, i, MPI_COMM_WORLD, &requests[1]));
        appears(&in[LONG - 1], i);
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        EQUAL(in[0], i);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}

// Collectives, short and long, of which several are under way.
static void collectives(void) {
    for (int i = 1; i <= TIMES; i++) {
        int sum = 0, one = i;
        MPI_Request requests[3];
        memset(out, rank == 0 ? i : 255, LONG);
        OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[0]));
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Ibcast(out, LONG, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[2]));
        appears(&sum, i);
        appears(&out[LONG - 1], i);
        OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
        CHECK(sum == i && out[0] == i, "%d, %d", sum, out[0]);
    }
}

static void twice(void *from, void *into, int *count, MPI_Datatype *type) {
    int members = -1;
    (void)type;
    OK(MPI_Comm_size(MPI_COMM_WORLD, &members)); // the thread is kept out, and this call let in
    for (int i = 0; i < *count; i++) ((int *)into)[i] += ((int *)from)[i];
}

// Functions of the program run in its own calls.
static void functions(void) {
    MPI_Op op;
    OK(MPI_Op_create(twice, 1, &op));
    for (int i = 0; i < TIMES; i++) {
        int one = 1, sum = 0;
        MPI_Request request;
        OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        EQUAL(sum, size);
    }
    OK(MPI_Op_free(&op));
}

// While nothing is pending the thread sleeps: it is not once given the processor.
static void rest(void) {
    struct timespec pause = {0, 200000000};
    struct rusage before, after;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    nanosleep(&pause, NULL); // what the barrier has left
    getrusage(RUSAGE_SELF, &before);
    nanosleep(&pause, NULL);
    getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_nvcsw - before.ru_nvcsw < 10, "%ld switches", after.ru_nvcsw - before.ru_nvcsw);
}

int main(int argc, char **argv) {
    const char *way = getenv("FERRITE_PROGRESS");
    has_thread = way != NULL && strcmp(way, "thread") == 0;
    start(&argc, &argv);
    messages();
    collectives();
    functions();
    rest();
    return finish();
}

// ranks: 1 2 4
// Several threads of each process call at the same time (MPI-5.0 §11.6).
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200, LONG = 100000 };

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm own_comm[THREADS];
static MPI_Op user_op;

// Each thread notes its failures by itself.
static void fail(const char *what, int thread, int got, int want) {
    if (got == want) return;
    pthread_mutex_lock(&counting);
    CHECK(0, "%s in thread %d: %d, not %d", what, thread, got, want);
    pthread_mutex_unlock(&counting);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

// Thread t of each rank talks with thread t of the others, by its tag: short and long, blocking and not.
static void *exchange(void *argument) {
    int t = (int)(long)argument, to = (rank + 1) % size, from = (rank + size - 1) % size;
    unsigned char *out = malloc(LONG), *in = malloc(LONG);
    for (int round = 0; round < ROUNDS; round++) {
        int got = -1, sent = rank * 1000 + round;
        size_t length = round % 10 == 0 ? LONG : (size_t)round * 17;
        MPI_Request requests[2];
        MPI_Sendrecv(&sent, 1, MPI_INT, to, t, &got, 1, MPI_INT, from, t, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        fail("sendrecv", t, got, from * 1000 + round);
        fill(out, length, rank + t + round);
        memset(in, 0, length);
        MPI_Irecv(in, (int)length, MPI_BYTE, from, THREADS + t, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, (int)length, MPI_BYTE, to, THREADS + t, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        fail("bytes", t, (int)wrong_at(in, length, from + t + round), -1);
    }
    free(out);
    free(in);
    return NULL;
}

// Each thread has a communicator of its own for collective operations, makes others of it, and reduces by a function
// of the program, which calls MPI.
static void *collectives(void *argument) {
    int t = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int mine = rank + t + round, sum = -1, root = round % size, value = rank == root ? round + t : -1;
        MPI_Request request;
        MPI_Comm half, copy;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, own_comm[t]);
        fail("allreduce", t, sum, size * (size - 1) / 2 + size * (t + round));
        MPI_Bcast(&value, 1, MPI_INT, root, own_comm[t]);
        fail("bcast", t, value, round + t);
        MPI_Iallreduce(&mine, &sum, 1, MPI_INT, user_op, own_comm[t], &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        fail("iallreduce", t, sum, size * (size - 1) / 2 + size * (t + round));
        if (round % 20 == 0) {
            int members = -1;
            MPI_Comm_split(own_comm[t], rank % 2, rank, &half);
            MPI_Comm_size(half, &members);
            fail("split", t, members, (size + (rank % 2 == 0)) / 2);
            MPI_Comm_dup(half, &copy);
            MPI_Barrier(copy);
            MPI_Comm_free(&half);
            MPI_Comm_free(&copy);
        }
        MPI_Barrier(own_comm[t]);
    }
    return NULL;
}

// One thread waits for what another thread of the same process sends: by a receive, a probe, a request of the other.
static MPI_Request handed_over;
static int from_request = -1;

static void *wait_for_main(void *argument) {
    int which = (int)(long)argument, got = -1;
    MPI_Message message;
    MPI_Status status;
    switch (which) {
    case 0: MPI_Recv(&got, 1, MPI_INT, rank, 70, MPI_COMM_WORLD, MPI_STATUS_IGNORE); break;
    case 1:
        MPI_Mprobe(rank, 71, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Wait(&handed_over, MPI_STATUS_IGNORE);
        got = from_request;
    }
    fail("waiting", which, got, 500 + which);
    return NULL;
}

static void among_threads(void) {
    pthread_t threads[3];
    OK(MPI_Irecv(&from_request, 1, MPI_INT, rank, 72, MPI_COMM_WORLD, &handed_over));
    for (long t = 0; t < 3; t++) EQUAL(pthread_create(&threads[t], NULL, wait_for_main, (void *)t), 0);
    double until = MPI_Wtime() + 0.02;
    while (MPI_Wtime() < until) {
    }
    for (int t = 2; t >= 0; t--) {
        int sent = 500 + t;
        OK(MPI_Send(&sent, 1, MPI_INT, rank, 70 + t, MPI_COMM_WORLD));
    }
    for (int t = 0; t < 3; t++) EQUAL(pthread_join(threads[t], NULL), 0);
}

// A generalized request that one thread completes and another waits for.
static int query(void *state, MPI_Status *status) {
    (void)state;
    MPI_Status_set_cancelled(status, 0);
    return MPI_Status_set_elements(status, MPI_INT, 7);
}
static int nothing(void *state) { (void)state; return MPI_SUCCESS; }
static int not_cancelled(void *state, int complete) { (void)state; (void)complete; return MPI_SUCCESS; }

static void *complete(void *request) {
    double until = MPI_Wtime() + 0.02;
    while (MPI_Wtime() < until) {
    }
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

static void generalized(void) {
    pthread_t thread;
    MPI_Request request, copy;
    MPI_Status status;
    int count = -1;
    OK(MPI_Grequest_start(query, nothing, not_cancelled, NULL, &request));
    copy = request;
    EQUAL(pthread_create(&thread, NULL, complete, &copy), 0);
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    EQUAL(count, 7);
    EQUAL(pthread_join(thread, NULL), 0);
}

// All threads work on one message: each makes some of its partitions ready, and looks for others of what comes, whose
// sender has divided it otherwise (MPI-5.0 §4.2).
enum { READY = 2 * THREADS, ARRIVED = 3 * THREADS, READY_BYTES = 9000, ARRIVED_BYTES = READY_BYTES * READY / ARRIVED };

static unsigned char parts_out[READY * READY_BYTES], parts_in[READY * READY_BYTES];
static MPI_Request parts_sent, parts_received;

static void *work_on_parts(void *argument) {
    int t = (int)(long)argument, from = (rank + size - 1) % size;
    for (int part = t; part < READY; part += THREADS) {
        fill(parts_out + part * READY_BYTES, READY_BYTES, rank + part);
        MPI_Pready(part, parts_sent);
    }
    for (int part = t; part < ARRIVED; part += THREADS) {
        int arrived = 0, wrong = 0;
        while (!arrived) MPI_Parrived(parts_received, part, &arrived);
        unsigned char want[READY_BYTES];
        for (int at = part * ARRIVED_BYTES; at < (part + 1) * ARRIVED_BYTES; at++) {
            if (at % READY_BYTES == 0 || at == part * ARRIVED_BYTES) fill(want, READY_BYTES, from + at / READY_BYTES);
            wrong += parts_in[at] != want[at % READY_BYTES];
        }
        fail("bytes of a partition", t, wrong, 0);
    }
    return NULL;
}

static void all(void *(*what)(void *)) {
    pthread_t threads[THREADS];
    for (long t = 0; t < THREADS; t++) EQUAL(pthread_create(&threads[t], NULL, what, (void *)t), 0);
    for (int t = 0; t < THREADS; t++) EQUAL(pthread_join(threads[t], NULL), 0);
}

static void partitions(void) {
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    OK(MPI_Psend_init(parts_out, READY, READY_BYTES, MPI_BYTE, to, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &parts_sent));
    OK(MPI_Precv_init(parts_in, ARRIVED, ARRIVED_BYTES, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &parts_received));
    for (int round = 0; round < ROUNDS / 10; round++) {
        memset(parts_in, 0, sizeof parts_in);
        OK(MPI_Start(&parts_received));
        OK(MPI_Start(&parts_sent));
        all(work_on_parts);
        OK(MPI_Wait(&parts_sent, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&parts_received, MPI_STATUS_IGNORE));
    }
    OK(MPI_Request_free(&parts_sent));
    OK(MPI_Request_free(&parts_received));
}

int main(int argc, char **argv) {
    int provided = -1, queried = -1;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    EQUAL(provided, MPI_THREAD_MULTIPLE);
    OK(MPI_Query_thread(&queried));
    EQUAL(queried, MPI_THREAD_MULTIPLE);
    OK(MPI_Op_create(add, 1, &user_op));
    for (int t = 0; t < THREADS; t++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &own_comm[t]));
    all(exchange);
    all(collectives);
    among_threads();
    generalized();
    partitions();
    for (int t = 0; t < THREADS; t++) OK(MPI_Comm_free(&own_comm[t]));
    OK(MPI_Op_free(&user_op));
    return finish();
}

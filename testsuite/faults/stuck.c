// Jobs that wait for ever, each for another typical reason: stuck REASON.
#include <mpi.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 1 << 20 };

static int rank;
static char buffer[LONG];

// Two send to each other, and neither receives.
static void head_to_head(void) {
    MPI_Ssend(buffer, LONG, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD);
    MPI_Recv(buffer, LONG, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wrong_tag(void) {
    if (rank == 1) MPI_Send(buffer, 1, MPI_BYTE, 0, 8, MPI_COMM_WORLD);
    MPI_Recv(buffer, 1, MPI_BYTE, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Two communicators of the same processes, and a message on the other one.
static void wrong_communicator(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "grid");
    if (rank == 1) MPI_Send(buffer, 1, MPI_BYTE, 0, 7, comm);
    MPI_Recv(buffer, 1, MPI_BYTE, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// One is not in the collective that the others are in.
static void missing(void) {
    if (rank == 1) MPI_Recv(buffer, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
}

// The same of one that has only begun, behind others that have ended.
static void missing_in_begun(void) {
    MPI_Request request;
    for (int i = 0; i < 9; i++) MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(buffer, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iallreduce(MPI_IN_PLACE, buffer, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Nobody reads what a root has for all, or for one, as often as there is room for it.
static void unread(void) {
    for (int i = 0; i < 100; i++) MPI_Bcast(buffer, 64, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 2) MPI_Recv(buffer, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (;;) MPI_Bcast(buffer, 64, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void unread_blocks(void) {
    enum { BLOCK = LONG / 4 };
    void *room = rank == 3 ? MPI_IN_PLACE : buffer;
    for (int i = 0;; i++) {
        if (rank == 2 && i == 100) MPI_Recv(buffer, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Scatter(buffer, BLOCK, MPI_BYTE, room, BLOCK, MPI_BYTE, 3, MPI_COMM_WORLD);
    }
}

static void unread_begun(void) {
    MPI_Request request;
    for (int i = 0; i < 100; i++) MPI_Bcast(buffer, 64, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 2) MPI_Recv(buffer, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (;;) {
        MPI_Ibcast(buffer, 64, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

// Ranks of a communicator in another order than those of the job.
static void reversed(void) {
    int size;
    MPI_Comm comm;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
    MPI_Comm_set_name(comm, "reversed");
    if (rank == size - 1) MPI_Send(buffer, 1, MPI_BYTE, size - 1, 8, comm);
    if (rank == 0) MPI_Recv(buffer, 1, MPI_BYTE, 0, 7, comm, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
}

static void computing(void) {
    if (rank == 1)
        for (;;) pause();
    MPI_Barrier(MPI_COMM_WORLD);
}

// Two communicators, and not the same order.
static void crossed(void) {
    MPI_Comm comms[2];
    for (int i = 0; i < 2; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_set_name(comms[i], i ? "second" : "first");
    }
    MPI_Barrier(comms[rank == 1]);
    MPI_Barrier(comms[rank != 1]);
}

static void ring_of_receives(void) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Recv(buffer, 1, MPI_BYTE, (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer, 1, MPI_BYTE, (rank + 1) % size, 5, MPI_COMM_WORLD);
}

static void never_sent(void) {
    MPI_Request requests[2];
    MPI_Irecv(buffer, 1, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(buffer + 1, 1, MPI_BYTE, 1 - rank, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(buffer + 2, 1, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

// One is not in the collective of two groups that the others are in.
static MPI_Comm two_groups(void) {
    MPI_Comm part, inter;
    int size, side;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    side = rank >= size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, side ? 0 : size / 2, 7, &inter);
    MPI_Comm_set_name(inter, "inter");
    return inter;
}

static void between(void) {
    MPI_Comm inter = two_groups();
    if (rank == 3) MPI_Recv(buffer, 1, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(inter);
}

// The same, of a call that is kept.
static void between_kept(void) {
    MPI_Comm inter = two_groups();
    MPI_Request request;
    MPI_Barrier_init(inter, MPI_INFO_NULL, &request);
    if (rank == 3) MPI_Recv(buffer, 1, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// All goes on, if slowly: each in turn has the lock for which the other one waits.
static void taking_turns(void) {
    int *memory;
    MPI_Win win;
    MPI_Win_allocate_shared(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 4; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        usleep(700000);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
}

// One has the lock for which another one waits, and is in a barrier; who waits has posted a receive besides.
static void locked(void) {
    int *memory;
    MPI_Request request;
    MPI_Win win;
    MPI_Win_allocate_shared(sizeof *memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_name(win, "counters");
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Irecv(buffer, 1, MPI_BYTE, 1, 7, MPI_COMM_WORLD, &request);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
}

// Either of two messages would do, and one of them may come yet.
static void any_of_two(void) {
    MPI_Request requests[2];
    int index;
    if (rank == 2)
        for (;;) pause();
    if (rank == 1) MPI_Recv(buffer, 1, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) MPI_Irecv(buffer, 1, MPI_BYTE, 1 + i, 7, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

// One has ended MPI, and the others wait for each other.
static void left(void) {
    if (rank == 0) {
        MPI_Finalize();
        for (;;) pause();
    }
    MPI_Recv(buffer, 1, MPI_BYTE, 3 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } reasons[] = {{"head_to_head", head_to_head}, {"wrong_tag", wrong_tag},
                   {"wrong_communicator", wrong_communicator},
                   {"missing", missing},           {"missing_in_begun", missing_in_begun},
                   {"reversed", reversed},         {"computing", computing},
                   {"crossed", crossed},           {"ring_of_receives", ring_of_receives},
                   {"never_sent", never_sent},     {"between", between},
                   {"between_kept", between_kept}, {"taking_turns", taking_turns},
                   {"locked", locked},             {"any_of_two", any_of_two},
                   {"left", left},                 {"unread", unread},
                   {"unread_blocks", unread_blocks}, {"unread_begun", unread_begun}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (argc > 1 && strcmp(argv[1], reasons[i].name) == 0) reasons[i].run();
    MPI_Finalize();
    return 0;
}

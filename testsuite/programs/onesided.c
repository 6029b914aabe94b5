// ranks: 1 2 3 4 8
// Puts, gets and accumulates on windows of shared memory (MPI-5.0 §12.3, §12.5).
#include "check.h"

enum { CELLS = 64 };

static MPI_Win win;
static int *mine;

static void allocate(int unit) {
    OK(MPI_Win_allocate_shared(CELLS * sizeof(int), unit, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, win));
}

// Each process puts a column to its right neighbour and gets it back in another shape.
static void puts_and_gets(void) {
    allocate(sizeof(int));
    int right = (rank + 1) % size, out[8], in[8];
    for (int i = 0; i < 8; i++) out[i] = rank * 10 + i;
    MPI_Datatype column;
    OK(MPI_Type_vector(8, 1, 4, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Put(out, 8, MPI_INT, right, 3, 1, column, win));
    OK(MPI_Put(out, 8, MPI_INT, MPI_PROC_NULL, 3, 1, column, win));
    OK(MPI_Win_fence(0, win));
    int left = (rank + size - 1) % size;
    for (int i = 0; i < 8; i++) EQUAL(mine[3 + 4 * i], left * 10 + i);
    memset(in, 0, sizeof in);
    OK(MPI_Get(in, 8, MPI_INT, right, 3, 1, column, win));
    for (int i = 0; i < 8; i++) EQUAL(in[i], out[i]);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));

    MPI_Request request;
    MPI_Status status;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    OK(MPI_Rget(in, 8, MPI_INT, right, 3, 1, column, win, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL, "the request is done");
    for (int i = 0; i < 8; i++) EQUAL(in[i], out[i]);
    OK(MPI_Win_unlock(right, win));
    OK(MPI_Type_free(&column));
    OK(MPI_Win_free(&win));
}

// All add to everybody at the same time.
static void sums(void) {
    allocate(sizeof(int));
    int ones[CELLS], rounds = 50;
    for (int i = 0; i < CELLS; i++) ones[i] = i + 1;
    for (int round = 0; round < rounds; round++)
        for (int to = 0; to < size; to++)
            OK(MPI_Accumulate(ones, CELLS, MPI_INT, to, 0, CELLS, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < CELLS; i++) EQUAL(mine[i], (i + 1) * rounds * size);
    // Every second one, by derived types of both sides.
    MPI_Datatype even;
    OK(MPI_Type_vector(CELLS / 2, 1, 2, MPI_INT, &even));
    OK(MPI_Type_commit(&even));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(ones, 1, even, (rank + 1) % size, 0, 1, even, MPI_REPLACE, win));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < CELLS; i++) EQUAL(mine[i], i % 2 ? (i + 1) * rounds * size : i + 1);
    OK(MPI_Type_free(&even));
    OK(MPI_Win_free(&win));
}

// A ticket for each, without a gap; a lock by compare and swap.
static void counters(void) {
    allocate(sizeof(int));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    OK(MPI_Win_lock_all(0, win));
    int one = 1, got, rounds = 100, last = -1, sum = 0, total = 0;
    for (int round = 0; round < rounds; round++) {
        OK(MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 5, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
        CHECK(got > last && got < rounds * size, "ticket %d after %d", got, last);
        last = got;
        sum += got;
        int empty = 0, taken = rank + 1, found;
        do {
            OK(MPI_Compare_and_swap(&taken, &empty, &found, MPI_INT, 0, 6, win));
            OK(MPI_Win_flush(0, win));
        } while (found != 0);
        OK(MPI_Get(&got, 1, MPI_INT, 0, 7, 1, MPI_INT, win));
        got++;
        OK(MPI_Put(&got, 1, MPI_INT, 0, 7, 1, MPI_INT, win));
        OK(MPI_Accumulate(&empty, 1, MPI_INT, 0, 6, 1, MPI_INT, MPI_REPLACE, win));
        OK(MPI_Win_flush(0, win));
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Allreduce(&sum, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    int tickets = rounds * size;
    EQUAL(total, tickets * (tickets - 1) / 2);
    if (rank == 0) EQUAL(mine[7], tickets);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    int was[3] = {0}, nothing[3] = {0};
    mine[0] = 10, mine[1] = 20, mine[2] = 30;
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT, was, 3, MPI_INT, rank, 0, 3, MPI_INT, MPI_NO_OP, win));
    for (int i = 0; i < 3; i++) EQUAL(was[i], 10 * (i + 1));
    OK(MPI_Get_accumulate(nothing, 3, MPI_INT, was, 3, MPI_INT, rank, 0, 3, MPI_INT, MPI_PROD, win));
    for (int i = 0; i < 3; i++) CHECK(was[i] == 10 * (i + 1) && mine[i] == 0, "old and new");
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Win_free(&win));
}

// Integers of a range are Fortran integers, which can be compared and swapped (§6.9.2, §12.3.4); duplicates are not
// predefined.
static void integers_of_a_range(void) {
    int *mine, before = -1, compare = 0, with = 7;
    MPI_Datatype ranged, copy;
    OK(MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Type_create_f90_integer(9, &ranged));
    OK(MPI_Type_dup(MPI_INT, &copy));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    *mine = 0;
    OK(MPI_Compare_and_swap(&with, &compare, &before, ranged, rank, 0, win));
    CHECK(before == 0 && *mine == 7, "%d, and then %d", before, *mine);
    FAILS(MPI_Compare_and_swap(&with, &compare, &before, copy, rank, 0, win), MPI_ERR_TYPE);
    OK(MPI_Win_unlock(rank, win));
    OK(MPI_Type_free(&copy));
    OK(MPI_Win_free(&win));
}

// Pairs with a gap, alone and within a derived type.
static void pairs(void) {
    struct { double value; int place; } *theirs, own[2] = {{rank, rank}, {-rank, rank}};
    OK(MPI_Win_allocate_shared(rank == 0 ? 2 * sizeof *theirs : 0, sizeof *theirs, MPI_INFO_NULL,
                               MPI_COMM_WORLD, &theirs, &win));
    OK(MPI_Win_fence(0, win));
    if (rank == 0) theirs[0].value = -5, theirs[0].place = -1, theirs[1] = theirs[0];
    OK(MPI_Win_fence(0, win));
    MPI_Datatype two;
    OK(MPI_Type_contiguous(2, MPI_DOUBLE_INT, &two));
    OK(MPI_Type_commit(&two));
    OK(MPI_Accumulate(own, 1, two, 0, 0, 1, two, MPI_MAXLOC, win));
    OK(MPI_Accumulate(own, 2, MPI_DOUBLE_INT, 0, 0, 2, MPI_DOUBLE_INT, MPI_MAXLOC, win));
    OK(MPI_Win_fence(0, win));
    if (rank == 0) {
        CHECK(theirs[0].value == size - 1 && theirs[0].place == size - 1, "the largest");
        CHECK(theirs[1].value == 0 && theirs[1].place == 0, "of the second");
    }
    OK(MPI_Type_free(&two));
    OK(MPI_Win_free(&win));
}

// Pairs of two equal types, within derived types of one side and of both: what is updated is the pair and
// not its parts, and a block without elements says nothing (§12.3.4).
static void pairs_of_equals(void) {
    int(*theirs)[2], own[2][2] = {{rank, rank}, {-rank, rank}}, was[2][2];
    OK(MPI_Win_allocate_shared(rank == 0 ? 2 * sizeof *theirs : 0, sizeof *theirs, MPI_INFO_NULL,
                               MPI_COMM_WORLD, &theirs, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, win));
    if (rank == 0)
        for (int i = 0; i < 2; i++) theirs[i][0] = -5, theirs[i][1] = -1;
    OK(MPI_Win_fence(0, win));
    MPI_Datatype two, spaced, parts[] = {MPI_DOUBLE, MPI_2INT};
    int lengths[] = {0, 2};
    MPI_Aint places[] = {0, 0};
    OK(MPI_Type_contiguous(2, MPI_2INT, &two));
    OK(MPI_Type_create_struct(2, lengths, places, parts, &spaced));
    OK(MPI_Type_commit(&two));
    OK(MPI_Type_commit(&spaced));
    OK(MPI_Accumulate(own, 2, MPI_2INT, 0, 0, 1, two, MPI_MAXLOC, win));
    OK(MPI_Accumulate(own, 1, two, 0, 0, 2, MPI_2INT, MPI_MAXLOC, win));
    OK(MPI_Get_accumulate(own, 1, spaced, was, 1, two, 0, 0, 1, two, MPI_MAXLOC, win));
    CHECK(was[0][0] >= rank && was[1][0] >= -rank, "%d and %d", was[0][0], was[1][0]);
    FAILS(MPI_Accumulate(own, 1, two, 0, 0, 4, MPI_INT, MPI_REPLACE, win), MPI_ERR_TYPE);
    FAILS(MPI_Accumulate(own, 1, two, 0, 0, 1, two, MPI_SUM, win), MPI_ERR_OP);
    OK(MPI_Win_fence(0, win));
    if (rank == 0) {
        CHECK(theirs[0][0] == size - 1 && theirs[0][1] == size - 1, "the largest");
        CHECK(theirs[1][0] == 0 && theirs[1][1] == 0, "of the second");
    }
    OK(MPI_Type_free(&two));
    OK(MPI_Type_free(&spaced));
    OK(MPI_Win_free(&win));
}

// What lies in the gap of a pair, or behind its last byte, is not the pair's (§5.1): it stays as it was.
static void gaps(void) {
    struct { double value; int place, owner; } *theirs, own = {rank + 1, rank, -1};
    OK(MPI_Win_allocate_shared(rank == 0 ? sizeof *theirs : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &theirs,
                               &win));
    OK(MPI_Win_fence(0, win));
    if (rank == 0) theirs->value = 0, theirs->place = -1, theirs->owner = 7;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&own, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_REPLACE, win));
    OK(MPI_Accumulate(&own, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win));
    OK(MPI_Win_fence(0, win));
    if (rank == 0) {
        CHECK(theirs->place >= 0 && theirs->value == theirs->place + 1, "of rank %d", theirs->place);
        EQUAL(theirs->owner, 7);
    }
    OK(MPI_Win_free(&win));

    // Rank 1's part begins where the pair in rank 0's ends.
    char *part;
    enum { PAIR = sizeof(double) + sizeof(int) };
    OK(MPI_Win_allocate_shared(rank == 0 ? PAIR : sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    OK(MPI_Win_fence(0, win));
    int kept = rank + 50;
    if (rank == 0) memset(part, 0, PAIR);
    else memcpy(part, &kept, sizeof kept);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Accumulate(&own, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_REPLACE, win));
    OK(MPI_Accumulate(&own, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MINLOC, win));
    OK(MPI_Win_fence(0, win));
    if (rank > 0) {
        memcpy(&kept, part, sizeof kept);
        EQUAL(kept, rank + 50);
    }
    OK(MPI_Win_free(&win));
}

// Exposure and access by groups, round and round.
static void groups(void) {
    allocate(1);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MPI_Group world, to, from;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &right, &to));
    OK(MPI_Group_incl(world, 1, &left, &from));
    for (int round = 0; round < 20; round++) {
        int value = 1000 * round + rank, flag = 0;
        OK(MPI_Win_post(from, 0, win));
        OK(MPI_Win_start(to, 0, win));
        OK(MPI_Put(&value, 1, MPI_INT, right, 8, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
        if (round % 2) {
            OK(MPI_Win_wait(win));
        } else {
            while (!flag) OK(MPI_Win_test(win, &flag));
        }
        EQUAL(mine[2], 1000 * round + left);
    }
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));
    OK(MPI_Win_free(&win));
}

// Who has exposed its own part may lock those of others (§12.5: an exposure epoch may overlap with an access
// epoch for the same window), but not its own (§12.5.3).
static void locks_while_exposed(void) {
    allocate(sizeof(int));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    MPI_Group world, owner, visitor;
    int first = 0, second = 1 % size, last = size - 1, value = 100 + rank;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &first, &owner));
    OK(MPI_Group_incl(world, 1, &second, &visitor));
    if (rank == first) {
        OK(MPI_Win_post(visitor, 0, win));
        FAILS(MPI_Win_lock(MPI_LOCK_SHARED, first, 0, win), MPI_ERR_RMA_SYNC);
        FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
        if (last != first) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win));
            FAILS(MPI_Win_lock(MPI_LOCK_SHARED, first, 0, win), MPI_ERR_RMA_SYNC);
            OK(MPI_Put(&value, 1, MPI_INT, last, 4, 1, MPI_INT, win));
            OK(MPI_Win_unlock(last, win));
        }
    }
    if (rank == second) {
        OK(MPI_Win_start(owner, 0, win));
        OK(MPI_Put(&value, 1, MPI_INT, first, 5, 1, MPI_INT, win));
        OK(MPI_Win_complete(win));
    }
    if (rank == first) {
        OK(MPI_Win_wait(win));
        EQUAL(mine[5], 100 + second);
    }
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    if (rank == last && last != first) EQUAL(mine[4], 100);
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&owner));
    OK(MPI_Group_free(&visitor));
    OK(MPI_Win_free(&win));
}

// The side that gets the data may have room for more (§12.3.1).
static void room_to_spare(void) {
    allocate(sizeof(int));
    int out[4] = {1, 2, 3, 4}, in[6] = {-1, -1, -1, -1, -1, -1};
    if (rank == 0)
        for (int i = 0; i < CELLS; i++) mine[i] = -1;
    OK(MPI_Win_fence(0, win));
    if (rank == size - 1) OK(MPI_Put(out, 2, MPI_INT, 0, 0, 4, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    if (rank == size - 1) OK(MPI_Accumulate(out, 1, MPI_INT, 0, 0, 2, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Get(in, 6, MPI_INT, 0, 0, 3, MPI_INT, win));
    FAILS(MPI_Put(out, 4, MPI_INT, 0, 0, 2, MPI_INT, win), MPI_ERR_TYPE);
    FAILS(MPI_Get(in, 1, MPI_INT, 0, 0, 2, MPI_INT, win), MPI_ERR_TYPE);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    const int wanted[6] = {2, 2, -1, -1, -1, -1};
    for (int i = 0; i < 6; i++) EQUAL(in[i], wanted[i]);
    OK(MPI_Win_free(&win));
}

// A post does not wait for those that it lets in, however much else is on its way to them (§12.5.2).
static void posts_at_once(void) {
    enum { MANY = 20000 };
    static char bytes[MANY];
    static MPI_Request requests[MANY];
    int last = size - 1, word = 7;
    MPI_Group world, partner;
    allocate(sizeof(int));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, rank == 0 ? &last : &(int){0}, &partner));
    if (rank == 0) {
        for (int i = 0; i < MANY; i++)
            OK(MPI_Isend(&bytes[i], 1, MPI_CHAR, last, 3, MPI_COMM_WORLD, &requests[i]));
        OK(MPI_Win_post(partner, 0, win));
        OK(MPI_Send(&word, 1, MPI_INT, last, 4, MPI_COMM_WORLD));
        OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
        OK(MPI_Win_wait(win));
    } else if (rank == last) {
        OK(MPI_Recv(&word, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Win_start(partner, 0, win));
        OK(MPI_Win_complete(win));
        for (int i = 0; i < MANY; i++)
            OK(MPI_Recv(&bytes[i], 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Group_free(&partner));
    OK(MPI_Group_free(&world));
    OK(MPI_Win_free(&win));
}

static void mistakes(void) {
    allocate(sizeof(int));
    int value = 0;
    MPI_Request request;
    FAILS(MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    FAILS(MPI_Put(&value, 1, MPI_INT, 0, -1, 1, MPI_INT, win), MPI_ERR_DISP);
    FAILS(MPI_Put(&value, 1, MPI_INT, 0, CELLS, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    FAILS(MPI_Put(MPI_IN_PLACE, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_BUFFER);
    FAILS(MPI_Compare_and_swap(&value, &value, MPI_IN_PLACE, MPI_INT, 0, 0, win), MPI_ERR_BUFFER);
    FAILS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    FAILS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
    FAILS(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_MINLOC, win), MPI_ERR_OP);
    FAILS(MPI_Rput(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    FAILS(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    FAILS(MPI_Put(&value, 1, MPI_INT, size - 1, 0, 1, MPI_INT, win),
          size > 1 ? MPI_ERR_RMA_SYNC : MPI_SUCCESS);
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    puts_and_gets();
    sums();
    counters();
    integers_of_a_range();
    pairs();
    pairs_of_equals();
    gaps();
    groups();
    locks_while_exposed();
    room_to_spare();
    if (size > 1) posts_at_once();
    mistakes();
    return finish();
}

// ranks: 1 2 3 4 8
// Windows of shared memory: what they are, loads and stores, epochs, errors (MPI-5.0 §12.2, §12.5).
#include "check.h"
#include <stdint.h>

enum { CELLS = 1000 };

static int errors_seen, copied, deleted;

static MPI_Win allocate(MPI_Aint bytes, int unit, MPI_Info info, void *base) {
    MPI_Win win = MPI_WIN_NULL;
    OK(MPI_Win_allocate_shared(bytes, unit, info, MPI_COMM_WORLD, base, &win));
    CHECK(win != MPI_WIN_NULL, "a handle");
    return win;
}

// Every process fills its part and reads everybody's.
static void parts(int apart) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false"));
    int *mine = NULL;
    MPI_Aint bytes = (MPI_Aint)sizeof(int) * (CELLS + rank);
    MPI_Win win = allocate(bytes, sizeof(int), info, &mine);
    OK(MPI_Info_free(&info));
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < CELLS + rank; i++) {
        CHECK(mine[i] == 0, "fresh memory is zero at %d", i);
        mine[i] = rank * 100000 + i;
    }
    OK(MPI_Win_fence(0, win));
    char *end = NULL;
    for (int other = 0; other < size; other++) {
        MPI_Aint its_bytes = -1;
        int its_unit = -1, *its = NULL;
        OK(MPI_Win_shared_query(win, other, &its_bytes, &its_unit, &its));
        EQUAL(its_bytes, sizeof(int) * (CELLS + other));
        EQUAL(its_unit, sizeof(int));
        if (other == rank) CHECK(its == mine, "one address for the own part");
        if (!apart && end != NULL) CHECK((char *)its == end, "parts follow each other");
        if (apart) CHECK((uintptr_t)its % 64 == 0, "parts that lie apart are aligned");
        end = (char *)its + its_bytes;
        for (int i = 0; i < CELLS + other; i++) EQUAL(its[i], other * 100000 + i);
    }
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL, "the handle is null");
}

// Parts that begin at multiples of what one of the processes asks for (§9.2); without gaps the first does.
static void aligned(int apart) {
    static const char *const wishes[] = {"128", "65536", "2097152", "much"};
    static const size_t multiples[] = {128, 65536, 2097152, 1};
    for (int i = 0; i < 4; i++) {
        MPI_Info info;
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false"));
        if (rank == size - 1) OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", wishes[i]));
        char *mine = NULL, *its = NULL;
        MPI_Win win = allocate(1000, 1, info, &mine);
        OK(MPI_Info_free(&info));
        memset(mine, rank + 1, 1000);
        OK(MPI_Win_fence(0, win));
        for (int other = 0; other < size; other++) {
            MPI_Aint its_bytes;
            int its_unit;
            OK(MPI_Win_shared_query(win, other, &its_bytes, &its_unit, &its));
            if (apart || other == 0) {
                CHECK((uintptr_t)its % multiples[i] == 0, "%s: %p", wishes[i], (void *)its);
            }
            CHECK(its[0] == other + 1 && its[999] == other + 1, "the part of rank %d", other);
        }
        OK(MPI_Win_free(&win));
    }
}

// One part has everything; the others find it by MPI_PROC_NULL.
static void first_part(void) {
    int owner = size - 1;
    double *mine = NULL, *all = NULL;
    MPI_Win win = allocate(rank == owner ? 8 * CELLS : 0, 8, MPI_INFO_NULL, &mine);
    MPI_Aint bytes = 0;
    int unit = 0;
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &all));
    EQUAL(bytes, 8 * CELLS);
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int i = rank; i < CELLS; i += size) all[i] = i * 0.5;
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_sync(win));
    for (int i = 0; i < CELLS; i++) CHECK(all[i] == i * 0.5, "cell %d is %g", i, all[i]);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    // No memory at all.
    win = allocate(0, 1, MPI_INFO_NULL, &mine);
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &all));
    EQUAL(bytes, 0);
    OK(MPI_Win_free(&win));
    // As in MPICH, a part that lies apart and is empty has no address.
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    win = allocate(rank % 2 ? 0 : 8, 1, info, &mine);
    CHECK((mine == NULL) == (rank % 2), "an address of %d bytes", rank % 2 ? 0 : 8);
    OK(MPI_Win_free(&win));
    OK(MPI_Info_free(&info));
}

// A counter without atomics: only the lock keeps it right.
static void locks(void) {
    volatile long *counter = NULL;
    void *mine = NULL;
    MPI_Win win = allocate(rank == 0 ? 16 : 0, 1, MPI_INFO_NULL, &mine);
    MPI_Aint bytes;
    int unit, rounds = 200;
    OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &counter));
    for (int round = 0; round < rounds; round++) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        long before = counter[0];
        counter[1] = rank;
        counter[0] = before + 1;
        CHECK(counter[1] == rank, "another process is inside");
        OK(MPI_Win_unlock(0, win));
        if (round % 10 == 0) {
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            long one = counter[0];
            OK(MPI_Win_flush(0, win));
            CHECK(counter[0] == one, "a shared lock keeps writers out");
            OK(MPI_Win_unlock(0, win));
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(counter[0], (long)rounds * size);
    OK(MPI_Win_free(&win));
}

static int copy(MPI_Win win, int key, void *state, void *from, void *to, int *flag) {
    (void)win, (void)key, (void)state, (void)from, (void)to;
    copied++;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Win win, int key, void *value, void *state) {
    (void)win, (void)key;
    CHECK(value == state, "the value that was set");
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void) {
    char *mine = NULL;
    MPI_Win win = allocate(100 + rank, 4, MPI_INFO_NULL, &mine);
    void *base = NULL;
    MPI_Aint *bytes = NULL;
    int *unit = NULL, *flavor = NULL, *model = NULL, flag = 0, key;
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == mine, "the base");
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag));
    CHECK(flag && *bytes == 100 + rank, "the size");
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == 4, "the unit");
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_SHARED, "the flavor");
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag));
    CHECK(flag && *model == MPI_WIN_UNIFIED, "the model");
    CHECK(*bytes == 100 + rank && *unit == 4, "values stay");
    OK(MPI_Win_create_keyval(copy, delete, &key, mine));
    OK(MPI_Win_get_attr(win, key, &base, &flag));
    CHECK(!flag, "not set yet");
    OK(MPI_Win_set_attr(win, key, mine));
    OK(MPI_Win_get_attr(win, key, &base, &flag));
    CHECK(flag && base == mine, "as it was set");
    OK(MPI_Win_delete_attr(win, key));
    EQUAL(deleted, 1);
    OK(MPI_Win_set_attr(win, key, mine));
    OK(MPI_Win_free_keyval(&key));

    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    OK(MPI_Win_get_name(win, name, &length));
    EQUAL(length, 0);
    OK(MPI_Win_set_name(win, "a window"));
    OK(MPI_Win_get_name(win, name, &length));
    CHECK(length == 8 && strcmp(name, "a window") == 0, "%s", name);

    MPI_Group ours, theirs;
    int same = -1;
    OK(MPI_Win_get_group(win, &ours));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &theirs));
    OK(MPI_Group_compare(ours, theirs, &same));
    EQUAL(same, MPI_IDENT);
    OK(MPI_Group_free(&ours));
    OK(MPI_Group_free(&theirs));

    MPI_Info info;
    char value[16];
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "same_size", "true"));
    OK(MPI_Win_set_info(win, info));
    OK(MPI_Info_free(&info));
    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, "same_size", 15, value, &flag));
    CHECK(flag && strcmp(value, "true") == 0, "the hint that was given");
    OK(MPI_Info_get(info, "no_locks", 15, value, &flag));
    CHECK(flag && strcmp(value, "false") == 0, "the hint that was not");
    OK(MPI_Info_free(&info));
    OK(MPI_Win_free(&win));
    EQUAL(deleted, 2);
    EQUAL(copied, 0);
}

static void handler(MPI_Win *win, int *code, ...) {
    int class = 0;
    MPI_Error_class(*code, &class);
    CHECK(*win != MPI_WIN_NULL && class == MPI_ERR_RMA_SYNC, "class %d", class);
    errors_seen++;
}

static void errors(void) {
    void *mine = NULL;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    FAILS(MPI_Win_allocate_shared(-1, 1, MPI_INFO_NULL, comm, &mine, &win), MPI_ERR_SIZE);
    FAILS(MPI_Win_allocate_shared(8, 0, MPI_INFO_NULL, comm, &mine, &win), MPI_ERR_DISP);
    // What one process gives wrongly, all are told.
    int worst = rank == size - 1 ? -1 : 1;
    FAILS(MPI_Win_allocate_shared(8, worst, MPI_INFO_NULL, comm, &mine, &win), MPI_ERR_DISP);
    OK(MPI_Comm_free(&comm));

    win = allocate(8, 1, MPI_INFO_NULL, &mine);
    MPI_Errhandler own, back;
    OK(MPI_Win_create_errhandler(handler, &own));
    OK(MPI_Win_set_errhandler(win, own));
    OK(MPI_Win_get_errhandler(win, &back));
    CHECK(back == own, "the handler that was set");
    OK(MPI_Errhandler_free(&back));
    OK(MPI_Errhandler_free(&own));
    FAILS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    EQUAL(errors_seen, 1);
    OK(MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC));
    EQUAL(errors_seen, 2);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    MPI_Aint bytes;
    int unit;
    FAILS(MPI_Win_shared_query(win, size, &bytes, &unit, &mine), MPI_ERR_RANK);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, -7, 0, win), MPI_ERR_RANK);
    FAILS(MPI_Win_lock(77, 0, 0, win), MPI_ERR_LOCKTYPE);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPRECEDE, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
    FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
    OK(MPI_Win_unlock(rank, win));
    MPI_Info hint;
    char value[8] = "";
    int length = sizeof value, known = 0;
    OK(MPI_Info_create(&hint));
    OK(MPI_Info_set(hint, "alloc_shared_noncontig", "true"));
    OK(MPI_Win_set_info(win, hint));
    OK(MPI_Info_free(&hint));
    OK(MPI_Win_get_info(win, &hint));
    OK(MPI_Info_get_string(hint, "alloc_shared_noncontig", &length, value, &known));
    CHECK(known && strcmp(value, "false") == 0, "where the parts lie stays as it is");
    OK(MPI_Info_free(&hint));
    int *fixed = NULL, flag = 0;
    FAILS(MPI_Win_set_attr(win, MPI_WIN_SIZE, &fixed), MPI_ERR_KEYVAL);
    FAILS(MPI_Win_get_attr(win, MPI_TAG_UB, &fixed, &flag), MPI_ERR_KEYVAL);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MPI_Win none;
    void *nowhere;
    FAILS(MPI_Win_allocate_shared(rank == size - 1 ? -8 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &nowhere, &none),
          MPI_ERR_SIZE);
    FAILS(MPI_Win_free(&win), MPI_ERR_WIN);
}

// Many windows at once, of parts of the processes, larger than /dev/shm is in a small container.
static void several(void) {
    MPI_Comm half;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    MPI_Win wins[20];
    long *bases[20];
    for (int i = 0; i < 20; i++) {
        OK(MPI_Win_allocate_shared(1 << 20, 8, MPI_INFO_NULL, half, &bases[i], &wins[i]));
        bases[i][(1 << 17) - 1] = i * 10 + rank;
    }
    for (int i = 0; i < 20; i++) {
        MPI_Aint bytes;
        int unit, members;
        OK(MPI_Win_fence(0, wins[i]));
        OK(MPI_Comm_size(half, &members));
        for (int other = 0; other < members; other++) {
            long *its;
            OK(MPI_Win_shared_query(wins[i], other, &bytes, &unit, &its));
            EQUAL(its[(1 << 17) - 1], i * 10 + 2 * other + rank % 2);
        }
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, wins[i]));
    }
    for (int i = 0; i < 20; i++) OK(MPI_Win_free(&wins[19 - i]));
    OK(MPI_Comm_free(&half));
    OK(MPI_Win_allocate_shared(64, 1, MPI_INFO_ENV, MPI_COMM_SELF, &bases[0], &wins[0]));
    bases[0][7] = 1;
    OK(MPI_Win_free(&wins[0]));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    parts(0);
    parts(1);
    aligned(0);
    aligned(1);
    first_part();
    locks();
    attributes();
    several();
    errors();
    return finish();
}

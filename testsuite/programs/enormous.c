// ranks: 2
// More than 2^31 bytes and elements moved, and places beyond 2^31 (MPI-5.0 §2.5.8), in memory that
// is one small file mapped again and again: only three islands of pages in it are their own, at the
// beginning, around 2^31 and at the end.
#define _GNU_SOURCE
#include "check.h"
#include <sys/mman.h>
#include <unistd.h>

#define TILE ((size_t)64 << 20)
#define TILES 33
#define ISLAND ((size_t)64 << 10)
#define WHOLE (TILE * TILES)
#define HALF ((size_t)1 << 31)
// One byte less, so that nothing is even.
static const MPI_Count bytes = (MPI_Count)(WHOLE - 1);

static char *sea(void) {
    int file = memfd_create("sea", 0);
    if (file < 0 || ftruncate(file, TILE)) MPI_Abort(MPI_COMM_WORLD, 3);
    int none = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *at = mmap(NULL, WHOLE, PROT_NONE, none, -1, 0);
    if (at == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
    int both = PROT_READ | PROT_WRITE;
    for (size_t i = 0; i < TILES; i++)
        mmap(at + i * TILE, TILE, both, MAP_SHARED | MAP_FIXED, file, 0);
    size_t places[3] = {0, HALF - ISLAND / 2, WHOLE - ISLAND};
    for (int i = 0; i < 3; i++) mmap(at + places[i], ISLAND, both, none | MAP_FIXED, -1, 0);
    close(file);
    return at;
}

// A piece of the sea that shows between the islands.
#define WATER (at + TILE / 2)

static void paint(char *at, int seed) {
    memset(at + ISLAND, seed, TILE - ISLAND);
    fill(WATER, ISLAND, seed);
    fill(at, ISLAND, seed + 1);
    fill(at + HALF - ISLAND / 2, ISLAND, seed + 2);
    fill(at + WHOLE - ISLAND, ISLAND, seed + 3);
}

static void check(char *at, int seed, const char *what) {
    CHECK(wrong_at(at, ISLAND, seed + 1) < 0, "%s: the beginning", what);
    CHECK(wrong_at(at + HALF - ISLAND / 2, ISLAND, seed + 2) < 0, "%s: around 2^31", what);
    CHECK(wrong_at(at + WHOLE - ISLAND, ISLAND - 1, seed + 3) < 0, "%s: the end", what);
    CHECK(at[WHOLE - 1] == 0, "%s: one byte too many", what);
    CHECK(wrong_at(WATER, ISLAND, seed) < 0, "%s: in between", what);
}

static void blank(char *at) {
    memset(WATER, 0, ISLAND);
    memset(at, 0, ISLAND);
    memset(at + HALF - ISLAND / 2, 0, ISLAND);
    memset(at + WHOLE - ISLAND, 0, ISLAND);
}

static void counted(const MPI_Status *status, MPI_Datatype type, int whole) {
    MPI_Count count = -1;
    int small = 0;
    OK(MPI_Get_count_c(status, MPI_CHAR, &count));
    EQUAL(count, bytes);
    OK(MPI_Get_elements_c(status, MPI_CHAR, &count));
    EQUAL(count, bytes);
    OK(MPI_Get_count(status, MPI_CHAR, &small));
    EQUAL(small, MPI_UNDEFINED);
    OK(MPI_Get_elements(status, type, &small));
    EQUAL(small, MPI_UNDEFINED);
    OK(MPI_Get_count(status, type, &small));
    EQUAL(small, whole);
}

static void messages(char *at) {
    MPI_Status status;
    MPI_Datatype type;
    MPI_Request request;
    OK(MPI_Type_contiguous_c(bytes, MPI_CHAR, &type));
    OK(MPI_Type_commit(&type));
    if (rank == 0) {
        paint(at, 10);
        OK(MPI_Send_c(at, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD));
        OK(MPI_Isend(at, 1, type, 1, 2, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Recv_c(at, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status));
        counted(&status, type, 1);
        check(at, 10, "a message");
        blank(at);
        OK(MPI_Probe(0, 2, MPI_COMM_WORLD, &status));
        counted(&status, type, 1);
        OK(MPI_Irecv(at, 1, type, 0, 2, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, &status));
        counted(&status, type, 1);
        check(at, 10, "one element");
    }
    blank(at);
    if (rank == 1) paint(at, 20);
    OK(MPI_Bcast_c(at, bytes, MPI_CHAR, 1, MPI_COMM_WORLD));
    at[WHOLE - 1] = 0;
    check(at, 20, "a broadcast");
    OK(MPI_Type_free(&type));
}

// Few bytes at places that an int cannot say.
static void places(char *at) {
    MPI_Count counts[2] = {1000, 3000};
    MPI_Aint displs[2] = {(MPI_Aint)HALF - 500, (MPI_Aint)(WHOLE - ISLAND)};
    char mine[3000], back[3000];
    fill(mine, sizeof mine, rank);
    blank(at);
    OK(MPI_Allgatherv_c(mine, counts[rank], MPI_CHAR, at, counts, displs, MPI_CHAR, MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) CHECK(wrong_at(at + displs[i], (size_t)counts[i], i) < 0, "of %d", i);
    blank(at);
    OK(MPI_Gatherv_c(mine, counts[rank], MPI_CHAR, at, counts, displs, MPI_CHAR, 1, MPI_COMM_WORLD));
    for (int i = 0; i < 2 && rank == 1; i++)
        CHECK(wrong_at(at + displs[i], (size_t)counts[i], i) < 0, "of %d", i);
    memset(back, 0, sizeof back);
    OK(MPI_Scatterv_c(at, counts, displs, MPI_CHAR, back, counts[rank], MPI_CHAR, 1, MPI_COMM_WORLD));
    CHECK(wrong_at(back, (size_t)counts[rank], rank) < 0, "scattered");
    fill(at + displs[0], 1000, 40 + rank);
    fill(at + displs[1], 1000, 50 + rank);
    MPI_Count thousand[2] = {1000, 1000};
    MPI_Aint near[2] = {0, 1000};
    OK(MPI_Alltoallv_c(at, thousand, displs, MPI_CHAR, back, thousand, near, MPI_CHAR, MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++)
        CHECK(wrong_at(back + 1000 * i, 1000, 40 + 10 * rank + i) < 0, "from %d", i);
    // Two blocks that lie further apart than 2^31.
    MPI_Datatype type;
    OK(MPI_Type_vector_c(2, 100, (MPI_Count)WHOLE - 200, MPI_CHAR, &type));
    OK(MPI_Type_commit(&type));
    paint(at, 60 + rank);
    MPI_Status status;
    OK(MPI_Sendrecv(at, 1, type, 1 - rank, 3, back, 200, MPI_CHAR, 1 - rank, 3, MPI_COMM_WORLD, &status));
    CHECK(wrong_at(back, 100, 61 + 1 - rank) < 0, "the first block");
    for (int i = 0; i < 100; i++)
        EQUAL((unsigned char)back[100 + i], byte_at(64 - rank, ISLAND - 200 + (size_t)i));
    OK(MPI_Type_free(&type));
}

static void packing(char *at, char *other) {
    MPI_Count size_c = -1, position = 0;
    int small = 0;
    OK(MPI_Pack_size_c(bytes, MPI_CHAR, MPI_COMM_WORLD, &size_c));
    CHECK(size_c >= bytes, "%lld", (long long)size_c);
    paint(at, 70);
    blank(other);
    OK(MPI_Pack_c(at, bytes, MPI_CHAR, other, (MPI_Count)WHOLE, &position, MPI_COMM_WORLD));
    EQUAL(position, bytes);
    check(other, 70, "packed");
    blank(at);
    position = 0;
    OK(MPI_Unpack_c(other, (MPI_Count)WHOLE, &position, at, bytes, MPI_CHAR, MPI_COMM_WORLD));
    EQUAL(position, bytes);
    check(at, 70, "unpacked");
    // 2^31 elements and more, none of which is changed by being joined with itself.
    OK(MPI_Reduce_local_c(other, at, bytes, MPI_UNSIGNED_CHAR, MPI_BOR));
    check(at, 70, "reduced");
    MPI_Status status;
    MPI_Count count = -1;
    memset(&status, 0, sizeof status);
    OK(MPI_Status_set_elements_c(&status, MPI_CHAR, bytes));
    OK(MPI_Get_elements_c(&status, MPI_CHAR, &count));
    EQUAL(count, bytes);
    OK(MPI_Get_elements(&status, MPI_CHAR, &small));
    EQUAL(small, MPI_UNDEFINED);
}

// A hole is read, and what is written goes nowhere: neither takes room on a disk.
static void files(char *at) {
    char path[300];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/ferrite-enormous-%ld", folder ? folder : "/tmp", (long)getpid());
    MPI_File file;
    MPI_Status status;
    MPI_Count count = -1;
    char end[1000];
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    OK(MPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, &file));
    OK(MPI_File_set_size(file, bytes));
    fill(end, sizeof end, 80);
    OK(MPI_File_write_at(file, bytes - 1000, end, 1000, MPI_CHAR, &status));
    paint(at, 90);
    OK(MPI_File_read_at_c(file, 0, at, bytes, MPI_CHAR, &status));
    OK(MPI_Get_count_c(&status, MPI_CHAR, &count));
    EQUAL(count, bytes);
    CHECK(wrong_at(at + bytes - 1000, 1000, 80) < 0, "the end of the file");
    CHECK(at[0] == 0 && at[HALF] == 0 && *WATER == 0, "the hole");
    OK(MPI_File_close(&file));
    OK(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    OK(MPI_File_write_at_c(file, 0, at, bytes, MPI_CHAR, &status));
    OK(MPI_Get_count_c(&status, MPI_CHAR, &count));
    EQUAL(count, bytes);
    OK(MPI_File_close(&file));
}

static void windows(void) {
    char *mine = NULL, out[1000], in[1000];
    MPI_Win win;
    OK(MPI_Win_allocate_shared((MPI_Aint)WHOLE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
    OK(MPI_Win_fence(0, win));
    fill(out, sizeof out, rank);
    OK(MPI_Put(out, 1000, MPI_CHAR, 1 - rank, (MPI_Aint)WHOLE - 1000, 1000, MPI_CHAR, win));
    OK(MPI_Win_fence(0, win));
    CHECK(wrong_at(mine + WHOLE - 1000, 1000, 1 - rank) < 0, "the end of the window");
    OK(MPI_Get_c(in, 1000, MPI_CHAR, 1 - rank, (MPI_Aint)WHOLE - 1000, 1000, MPI_CHAR, win));
    CHECK(memcmp(in, out, 1000) == 0, "what was put");
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    char *one = sea(), *two = sea();
    messages(one);
    places(one);
    if (rank == 0) packing(one, two);
    if (rank == 0) files(one);
    windows();
    return finish();
}

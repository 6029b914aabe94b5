// ranks: 1 2 3 4
// Nonblocking and split accesses of files (MPI-5.0 §14.4.2, §14.4.3, §14.4.5).
#include "check.h"
#include <unistd.h>

enum { NUMBERS = 500 };

static char path[300];
static MPI_File file;

static void open_file(void) {
    const char *folder = getenv("TMPDIR");
    if (rank == 0) {
        snprintf(path, sizeof path, "%s/ferrite-requests-%ld", folder ? folder : "/tmp", (long)getpid());
    }
    OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    OK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
}

static void numbers(int *to, int seed) {
    for (int i = 0; i < NUMBERS; i++) to[i] = seed * 100000 + i;
}

static void expect(const int *got, int seed) {
    for (int i = 0; i < NUMBERS; i++) EQUAL(got[i], seed * 100000 + i);
}

static void done(MPI_Request *request) {
    MPI_Status status;
    int count = -1;
    OK(MPI_Wait(request, &status));
    CHECK(*request == MPI_REQUEST_NULL, "the request is done");
    OK(MPI_Get_count(&status, MPI_INT, &count));
    EQUAL(count, NUMBERS);
}

static void requests(void) {
    int out[4][NUMBERS], in[NUMBERS];
    MPI_Request four[4];
    MPI_Offset mine = (MPI_Offset)rank * NUMBERS * 4, where = -1;
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < 4; i++) numbers(out[i], 4 * rank + i);
    OK(MPI_File_iwrite_at(file, mine, out[0], NUMBERS, MPI_INT, &four[0]));
    OK(MPI_File_iwrite_at_all(file, mine + NUMBERS, out[1], NUMBERS, MPI_INT, &four[1]));
    OK(MPI_File_seek(file, mine + 2 * NUMBERS, MPI_SEEK_SET));
    OK(MPI_File_iwrite(file, out[2], NUMBERS, MPI_INT, &four[2]));
    OK(MPI_File_iwrite_all(file, out[3], NUMBERS, MPI_INT, &four[3]));
    for (int i = 0; i < 4; i++) done(&four[i]);
    OK(MPI_File_get_position(file, &where));
    EQUAL(where, mine + 4 * NUMBERS);
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(file));
    int other = (rank + 1) % size;
    MPI_Offset theirs = (MPI_Offset)other * NUMBERS * 4;
    OK(MPI_File_iread_at(file, theirs, in, NUMBERS, MPI_INT, &four[0]));
    done(&four[0]);
    expect(in, 4 * other);
    OK(MPI_File_iread_at_all(file, theirs + NUMBERS, in, NUMBERS, MPI_INT, &four[0]));
    done(&four[0]);
    expect(in, 4 * other + 1);
    OK(MPI_File_seek(file, theirs + 2 * NUMBERS, MPI_SEEK_SET));
    OK(MPI_File_iread(file, in, NUMBERS, MPI_INT, &four[0]));
    done(&four[0]);
    expect(in, 4 * other + 2);
    OK(MPI_File_iread_all(file, in, NUMBERS, MPI_INT, &four[0]));
    done(&four[0]);
    expect(in, 4 * other + 3);
    FAILS(MPI_File_iread_at(file, 0, in, -1, MPI_INT, &four[0]), MPI_ERR_COUNT);
}

static void split(void) {
    int out[NUMBERS], in[NUMBERS], count = -1;
    MPI_Status status;
    MPI_Offset mine = (MPI_Offset)rank * NUMBERS;
    numbers(out, 50 + rank);
    OK(MPI_File_write_at_all_begin(file, mine, out, NUMBERS, MPI_INT));
    REFUSED(MPI_File_read_at_all_begin(file, mine, in, NUMBERS, MPI_INT));
    REFUSED(MPI_File_write_all_end(file, out, &status));
    OK(MPI_File_write_at_all_end(file, out, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    EQUAL(count, NUMBERS);
    REFUSED(MPI_File_write_at_all_end(file, out, &status));
    OK(MPI_File_read_at_all_begin(file, mine, in, NUMBERS, MPI_INT));
    OK(MPI_File_read_at_all_end(file, in, &status));
    expect(in, 50 + rank);
    OK(MPI_File_seek(file, mine, MPI_SEEK_SET));
    numbers(out, 80 + rank);
    OK(MPI_File_write_all_begin(file, out, NUMBERS, MPI_INT));
    OK(MPI_File_write_all_end(file, out, MPI_STATUS_IGNORE));
    OK(MPI_File_seek(file, mine, MPI_SEEK_SET));
    OK(MPI_File_read_all_begin(file, in, NUMBERS, MPI_INT));
    OK(MPI_File_read_all_end(file, in, &status));
    expect(in, 80 + rank);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    open_file();
    requests();
    // Others may still read what is written over now.
    OK(MPI_Barrier(MPI_COMM_WORLD));
    split();
    OK(MPI_File_close(&file));
    return finish();
}

// ranks: 1 2 3 4 8
// Files: opening, views, reading and writing, sizes, errors (MPI-5.0 §14.2 to §14.7).
#include "check.h"
#include <unistd.h>

enum { ROWS = 6, WIDTH = 5 };

static char path[300];

// One name for all, different in each run.
static void choose_path(void) {
    const char *folder = getenv("TMPDIR");
    if (rank == 0) {
        snprintf(path, sizeof path, "%s/ferrite-files-%ld", folder ? folder : "/tmp", (long)getpid());
    }
    OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
}

static MPI_File open_file(int mode) {
    MPI_File file = MPI_FILE_NULL;
    OK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_ENV, &file));
    CHECK(file != MPI_FILE_NULL, "a handle");
    return file;
}

static int count_of(const MPI_Status *status, MPI_Datatype type) {
    int count = -1;
    OK(MPI_Get_count(status, type, &count));
    return count;
}

// Each process writes its columns of a matrix through a subarray and reads the others' rows.
static void columns(void) {
    MPI_File file = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
    int whole[2] = {ROWS, WIDTH * size}, part[2] = {ROWS, WIDTH}, at[2] = {0, WIDTH * rank};
    int cells[ROWS * WIDTH], all[ROWS * WIDTH * 8];
    MPI_Datatype mine;
    MPI_Status status;
    MPI_Offset bytes = -1;
    OK(MPI_Type_create_subarray(2, whole, part, at, MPI_ORDER_C, MPI_INT, &mine));
    OK(MPI_Type_commit(&mine));
    OK(MPI_File_set_view(file, 8, MPI_INT, mine, "native", MPI_INFO_NULL));
    for (int i = 0; i < ROWS * WIDTH; i++) {
        cells[i] = i / WIDTH * WIDTH * size + WIDTH * rank + i % WIDTH;
    }
    OK(MPI_File_write_all(file, cells, ROWS * WIDTH, MPI_INT, &status));
    EQUAL(count_of(&status, MPI_INT), ROWS * WIDTH);
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_get_size(file, &bytes));
    EQUAL(bytes, 8 + ROWS * WIDTH * size * (int)sizeof(int));

    MPI_Offset disp = -1;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    OK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep));
    EQUAL(disp, 8);
    CHECK(etype == MPI_INT, "a named type comes back as itself");
    CHECK(strcmp(datarep, "native") == 0, "%s", datarep);
    int bytes_of_part = -1;
    OK(MPI_Type_size(filetype, &bytes_of_part));
    EQUAL(bytes_of_part, (int)sizeof cells);
    OK(MPI_Type_free(&filetype));

    OK(MPI_File_get_byte_offset(file, WIDTH, &disp));
    EQUAL(disp, 8 + (WIDTH * size + WIDTH * rank) * (int)sizeof(int));
    OK(MPI_File_seek(file, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(file, &disp));
    EQUAL(disp, ROWS * WIDTH);
    OK(MPI_File_seek(file, -WIDTH, MPI_SEEK_CUR));
    memset(all, 0xff, sizeof all);
    OK(MPI_File_read(file, all, WIDTH, MPI_INT, &status));
    EQUAL(all[0], (ROWS - 1) * WIDTH * size + WIDTH * rank);

    OK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at_all(file, 0, all, ROWS * WIDTH * 8, MPI_INT, &status));
    EQUAL(count_of(&status, MPI_INT), ROWS * WIDTH * size);
    for (int i = 0; i < ROWS * WIDTH * size; i++) EQUAL(all[i], i);
    OK(MPI_File_read_at(file, ROWS * WIDTH * size + 3, all, 1, MPI_INT, &status));
    EQUAL(count_of(&status, MPI_INT), 0);
    OK(MPI_Type_free(&mine));
    OK(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL, "the handle is gone");
}

// A matrix that is stored by rows, column by column: the repetitions of the file type lie within each other. Rank 0
// writes it so and all read a column each.
static void columns_one_by_one(void) {
    enum { TALL = 4, BROAD = 5 };
    MPI_File file = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Datatype column, next;
    MPI_Status status;
    MPI_Offset end = -1;
    int cells[TALL * BROAD], got[TALL], bytes = (int)sizeof cells;
    OK(MPI_File_set_size(file, 0));
    OK(MPI_Type_vector(TALL, 1, BROAD, MPI_INT, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(int), &next));
    OK(MPI_Type_commit(&next));
    OK(MPI_File_set_view(file, 0, MPI_INT, next, "native", MPI_INFO_NULL));
    for (int i = 0; i < TALL * BROAD; i++) cells[i] = 100 * (i / TALL) + i % TALL;
    if (rank == 0) OK(MPI_File_write(file, cells, TALL * BROAD, MPI_INT, &status));
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(file));
    OK(MPI_File_get_size(file, &end));
    EQUAL(end, bytes);
    int mine = rank % BROAD;
    OK(MPI_File_read_at(file, TALL * mine, got, TALL, MPI_INT, &status));
    EQUAL(count_of(&status, MPI_INT), TALL);
    for (int i = 0; i < TALL; i++) EQUAL(got[i], 100 * mine + i);
    // The first place behind the end of the file is the last of the second column beyond it.
    OK(MPI_File_seek(file, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(file, &end));
    EQUAL(end, TALL * BROAD + TALL - 1);
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(file, BROAD * (rank % TALL), cells, BROAD, MPI_INT, &status));
    for (int i = 0; i < BROAD; i++) EQUAL(cells[i], 100 * i + rank % TALL);
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&next));
    OK(MPI_File_close(&file));
}

// What all processes have to agree on is the extent of the etype (§14.3).
static void etypes_of_one_extent(void) {
    MPI_File file = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Datatype padded;
    OK(MPI_Type_create_resized(MPI_SHORT, 0, sizeof(int), &padded));
    OK(MPI_Type_commit(&padded));
    MPI_Datatype mine = rank == 0 ? MPI_INT : padded;
    OK(MPI_File_set_view(file, 0, mine, mine, "native", MPI_INFO_NULL));
    mine = rank == 0 ? MPI_SHORT : padded;
    if (size > 1) FAILS(MPI_File_set_view(file, 0, mine, mine, "native", MPI_INFO_NULL), MPI_ERR_NOT_SAME);
    OK(MPI_Type_free(&padded));
    OK(MPI_File_close(&file));
}

// Memory with gaps on one side, a file type with gaps on the other, over several pieces.
static void gaps(void) {
    MPI_File file = open_file(MPI_MODE_RDWR);
    enum { PAIRS = 1000 };
    static short memory[PAIRS * 3], back[PAIRS * 3];
    MPI_Datatype two_of_three, every;
    MPI_Status status;
    OK(MPI_Type_vector(PAIRS, 2, 3, MPI_SHORT, &two_of_three));
    OK(MPI_Type_commit(&two_of_three));
    OK(MPI_Type_create_resized(MPI_SHORT, 0, (MPI_Aint)sizeof(short) * size, &every));
    OK(MPI_Type_commit(&every));
    OK(MPI_File_set_view(file, (MPI_Offset)sizeof(short) * rank, MPI_SHORT, every, "native",
                         MPI_INFO_NULL));
    for (int i = 0; i < PAIRS * 3; i++) memory[i] = (short)(i * 8 + rank);
    OK(MPI_File_write(file, memory, 1, two_of_three, &status));
    EQUAL(count_of(&status, MPI_SHORT), PAIRS * 2);
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    memset(back, 0, sizeof back);
    OK(MPI_File_read(file, back, 1, two_of_three, &status));
    EQUAL(count_of(&status, MPI_SHORT), PAIRS * 2);
    for (int i = 0; i + 2 < PAIRS * 3; i++) EQUAL(back[i], i % 3 == 2 ? 0 : memory[i]);
    OK(MPI_Type_free(&two_of_three));
    OK(MPI_Type_free(&every));
    OK(MPI_File_close(&file));
}

static void sizes(void) {
    MPI_File file = open_file(MPI_MODE_RDWR);
    MPI_Offset bytes = -1;
    OK(MPI_File_set_size(file, 1000));
    OK(MPI_File_get_size(file, &bytes));
    EQUAL(bytes, 1000);
    OK(MPI_File_preallocate(file, 5000));
    OK(MPI_File_get_size(file, &bytes));
    EQUAL(bytes, 5000);
    OK(MPI_File_preallocate(file, 10));
    OK(MPI_File_get_size(file, &bytes));
    EQUAL(bytes, 5000);
    FAILS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
    if (size > 1) FAILS(MPI_File_set_size(file, 100 + rank), MPI_ERR_NOT_SAME);
    OK(MPI_File_close(&file));
    file = open_file(MPI_MODE_WRONLY | MPI_MODE_APPEND);
    OK(MPI_File_get_position(file, &bytes));
    EQUAL(bytes, 5000);
    OK(MPI_File_close(&file));
}

// In atomic mode a read sees all of a write or nothing of it.
static void atomicity(void) {
    MPI_File file = open_file(MPI_MODE_RDWR);
    enum { LONG = 20000 };
    static char bytes[LONG];
    int atomic = -1;
    OK(MPI_File_get_atomicity(file, &atomic));
    EQUAL(atomic, 0);
    OK(MPI_File_set_atomicity(file, 1));
    OK(MPI_File_get_atomicity(file, &atomic));
    EQUAL(atomic, 1);
    MPI_Datatype every;
    OK(MPI_Type_create_resized(MPI_CHAR, 0, 2, &every));
    OK(MPI_Type_commit(&every));
    OK(MPI_File_set_view(file, 0, MPI_CHAR, every, "native", MPI_INFO_NULL));
    memset(bytes, 'a' + rank, sizeof bytes);
    OK(MPI_File_write_at(file, 0, bytes, LONG, MPI_CHAR, MPI_STATUS_IGNORE));
    for (int round = 0; round < 3; round++) {
        OK(MPI_File_read_at(file, 0, bytes, LONG, MPI_CHAR, MPI_STATUS_IGNORE));
        for (int i = 1; i < LONG; i++) EQUAL(bytes[i], bytes[0]);
        memset(bytes, 'a' + rank, sizeof bytes);
        OK(MPI_File_write_at(file, 0, bytes, LONG, MPI_CHAR, MPI_STATUS_IGNORE));
    }
    OK(MPI_Type_free(&every));
    OK(MPI_File_close(&file));
}

// A process that owns nothing of the file takes part with nothing.
static void nothing(void) {
    MPI_File file = open_file(MPI_MODE_RDWR);
    int value = 77 + rank, back = -1, owns = rank % 2 == 0;
    MPI_Datatype mine;
    MPI_Status status;
    MPI_Offset at = -1;
    OK(MPI_Type_contiguous(owns, MPI_INT, &mine));
    OK(MPI_Type_commit(&mine));
    OK(MPI_File_set_view(file, 4 * rank, MPI_INT, mine, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(file, &value, owns, MPI_INT, &status));
    EQUAL(count_of(&status, MPI_INT), owns);
    OK(MPI_File_get_byte_offset(file, 0, &at));
    EQUAL(at, 4 * rank);
    OK(MPI_File_read_at_all(file, 0, &back, 1, MPI_INT, &status));
    EQUAL(count_of(&status, MPI_INT), owns);
    EQUAL(back, owns ? value : -1);
    if (!owns) REFUSED(MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_Type_free(&mine));
    OK(MPI_File_close(&file));
}

// All who append begin at the end that the file had, though one of them writes at once.
static void appending(void) {
    static char bytes[100000];
    for (int round = 0; round < 20; round++) {
        MPI_Offset position = -1;
        MPI_File file = open_file(MPI_MODE_RDWR);
        OK(MPI_File_set_size(file, 5000));
        OK(MPI_File_close(&file));
        file = open_file(MPI_MODE_WRONLY | MPI_MODE_APPEND);
        if (rank == 0) OK(MPI_File_write(file, bytes, sizeof bytes, MPI_CHAR, MPI_STATUS_IGNORE));
        if (rank != 0) OK(MPI_File_get_position(file, &position));
        if (rank != 0) EQUAL(position, 5000);
        OK(MPI_File_close(&file));
    }
}

// The end of a file is behind all that a view shows of it, wherever its data begin (§14.4.3).
static void ends(void) {
    enum { BLOCK = 3 };
    int words[BLOCK] = {0}, at = rank * BLOCK, length = BLOCK;
    MPI_File file = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Datatype part;
    MPI_Offset where = -1;
    OK(MPI_Type_indexed(1, &length, &at, MPI_INT, &part));
    OK(MPI_Type_commit(&part));
    OK(MPI_File_set_size(file, 0));
    OK(MPI_File_write_at_all(file, at * (int)sizeof(int), words, BLOCK, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(file, 0, MPI_INT, part, "native", MPI_INFO_NULL));
    OK(MPI_File_seek(file, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(file, &where));
    EQUAL(where, (size - rank) * BLOCK);
    OK(MPI_Type_free(&part));
    OK(MPI_File_close(&file));
}

static int handled;

static void note(MPI_File *file, int *code, ...) {
    (void)code;
    // A file that is being closed may have no shared pointer any more; there is a first time only.
    if (++handled == 2) {
        MPI_Offset where = 0;
        MPI_File_get_position_shared(*file, &where);
    }
}

static void errors(void) {
    MPI_File file = MPI_FILE_NULL;
    int value = 0, mode = -1;
    char missing[320];
    snprintf(missing, sizeof missing, "%s.missing", path);
    FAILS(MPI_File_open(MPI_COMM_WORLD, missing, MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
          MPI_ERR_NO_SUCH_FILE);
    CHECK(file == MPI_FILE_NULL, "no handle");
    FAILS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                        MPI_INFO_NULL, &file), MPI_ERR_FILE_EXISTS);
    FAILS(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
          MPI_ERR_AMODE);
    FAILS(MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
          MPI_ERR_BAD_FILE);
    if (size > 1) {
        int differ = rank == 0 ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
        FAILS(MPI_File_open(MPI_COMM_WORLD, path, differ, MPI_INFO_NULL, &file), MPI_ERR_NOT_SAME);
    }
    FAILS(MPI_File_delete(missing, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    FAILS(MPI_File_open(MPI_COMM_WORLD, NULL, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_ARG);
    FAILS(MPI_File_delete(NULL, MPI_INFO_NULL), MPI_ERR_ARG);
    FAILS(MPI_File_close(&file), MPI_ERR_FILE);

    file = open_file(MPI_MODE_RDONLY);
    OK(MPI_File_get_amode(file, &mode));
    EQUAL(mode, MPI_MODE_RDONLY);
    FAILS(MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    FAILS(MPI_File_read_at(file, -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_File_read(file, &value, -1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    FAILS(MPI_File_set_view(file, -4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_SHORT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "roman", MPI_INFO_NULL),
          MPI_ERR_UNSUPPORTED_DATAREP);
    MPI_Errhandler noting, attached;
    OK(MPI_File_create_errhandler(note, &noting));
    OK(MPI_File_set_errhandler(file, noting));
    OK(MPI_File_get_errhandler(file, &attached));
    CHECK(attached == noting, "the handler that was set");
    OK(MPI_Errhandler_free(&attached));
    REFUSED(MPI_File_seek(file, -1, MPI_SEEK_SET));
    EQUAL(handled, 1);
    OK(MPI_File_close(&file));

    // The handler of a file hears also that it could not be deleted when it was closed.
    file = open_file(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    OK(MPI_File_set_errhandler(file, noting));
    OK(MPI_Errhandler_free(&noting));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) EQUAL(unlink(path), 0);
    REFUSED(MPI_File_close(&file));
    EQUAL(handled, 3);
    CHECK(file == MPI_FILE_NULL, "gone all the same");
    file = open_file(MPI_MODE_RDWR | MPI_MODE_CREATE);
    OK(MPI_File_close(&file));
}

static void queries(void) {
    MPI_File file = open_file(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Group world, group;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Aint extent = -1;
    int result = -1, keys = -1;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_File_get_group(file, &group));
    OK(MPI_Group_compare(world, group, &result));
    EQUAL(result, MPI_IDENT);
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&group));
    OK(MPI_File_set_info(file, MPI_INFO_NULL));
    OK(MPI_File_get_info(file, &info));
    OK(MPI_Info_get_nkeys(info, &keys));
    EQUAL(keys, 0);
    OK(MPI_Info_free(&info));
    OK(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
    EQUAL(extent, (int)sizeof(double));
    OK(MPI_File_write_at_all(file, 0, "x", rank == 0, MPI_CHAR, MPI_STATUS_IGNORE));
    char letter = 0;
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_all(file, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    CHECK(access(path, F_OK) != 0, "the file is deleted");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    choose_path();
    columns();
    columns_one_by_one();
    etypes_of_one_extent();
    gaps();
    nothing();
    sizes();
    appending();
    ends();
    atomicity();
    errors();
    queries();
    return finish();
}

// ranks: 1 2 4
// Files of the representation external32 and views that overlap (MPI-5.0 §14.1.1, §14.5).
#include "check.h"
#include <stddef.h>
#include <unistd.h>

static char path[300];

static void choose_path(void) {
    const char *folder = getenv("TMPDIR");
    if (rank == 0) {
        snprintf(path, sizeof path, "%s/ferrite-external-%ld", folder ? folder : "/tmp", (long)getpid());
    }
    OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
}

static MPI_File open_file(int mode) {
    MPI_File file = MPI_FILE_NULL;
    OK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
    return file;
}

static int count_of(const MPI_Status *status, MPI_Datatype type) {
    int count = -1;
    OK(MPI_Get_count(status, type, &count));
    return count;
}

// Every process writes each size-th long, which has four bytes in the file, and a file type with
// a hole counted in longs follows.
static void longs(void) {
    enum { EACH = 3 };
    MPI_File file = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Datatype one, mine;
    OK(MPI_Type_create_resized(MPI_LONG, 0, size * (MPI_Aint)4, &one));
    OK(MPI_Type_vector(EACH, 1, size, MPI_LONG, &mine));
    OK(MPI_Type_commit(&one));
    OK(MPI_Type_commit(&mine));
    OK(MPI_File_set_view(file, 4 * rank, MPI_LONG, mine, "external32", MPI_INFO_NULL));

    MPI_Aint extent = -1;
    OK(MPI_File_get_type_extent(file, MPI_LONG, &extent));
    EQUAL(extent, 4);
    OK(MPI_File_get_type_extent(file, mine, &extent));
    EQUAL(extent, 4 * ((EACH - 1) * size + 1));
    OK(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
    EQUAL(extent, 8);
    MPI_Offset where = -1;
    OK(MPI_File_get_byte_offset(file, 2, &where));
    EQUAL(where, 4 * (rank + 2 * size));

    long values[EACH], back[EACH + 2] = {0};
    MPI_Status status;
    for (int i = 0; i < EACH; i++) values[i] = -(long)(i * size + rank);
    OK(MPI_File_write_at_all(file, 0, values, EACH, MPI_LONG, &status));
    EQUAL(count_of(&status, MPI_LONG), EACH);
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Offset bytes = -1;
    OK(MPI_File_get_size(file, &bytes));
    EQUAL(bytes, 4 * EACH * size);

    // The same view reads the same numbers, and no more of them than there are.
    OK(MPI_File_set_view(file, 4 * rank, MPI_LONG, one, "external32", MPI_INFO_NULL));
    OK(MPI_File_read_all(file, back, EACH + 2, MPI_LONG, &status));
    EQUAL(count_of(&status, MPI_LONG), EACH);
    for (int i = 0; i < EACH; i++) EQUAL(back[i], values[i]);
    OK(MPI_File_seek(file, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(file, &where));
    EQUAL(where, EACH);

    // The bytes are big-endian numbers.
    unsigned char raw[4 * EACH * 8];
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(file, 0, raw, 4 * EACH * size, MPI_BYTE, &status));
    for (int i = 0; i < EACH * size; i++) {
        unsigned number = 0;
        for (int byte = 0; byte < 4; byte++) number = number << 8 | raw[4 * i + byte];
        EQUAL((int)number, -i);
    }

    // A number that does not fit is refused, not cut.
    OK(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    long large = 1L << 40;
    FAILS(MPI_File_write_at(file, 0, &large, 1, MPI_LONG, &status), MPI_ERR_CONVERSION);
    OK(MPI_File_close(&file));
    OK(MPI_Type_free(&one));
    OK(MPI_Type_free(&mine));
}

// A structure with padding in memory has none in the file; each process writes its own.
static void records(void) {
    struct record { char name; double value; short tail; } records[5], back[5];
    MPI_Datatype type, types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
    MPI_Aint places[3] = {offsetof(struct record, name), offsetof(struct record, value),
                          offsetof(struct record, tail)};
    MPI_Datatype packed;
    MPI_File file = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
    OK(MPI_Type_create_struct(3, (int[]){1, 1, 1}, places, types, &packed));
    OK(MPI_Type_create_resized(packed, 0, sizeof(struct record), &type));
    OK(MPI_Type_commit(&type));
    memset(back, 0, sizeof back);
    for (int i = 0; i < 5; i++) {
        records[i] = (struct record){(char)('a' + i), rank + i / 8.0, (short)(100 * rank + i)};
    }
    MPI_Status status;
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
    OK(MPI_File_write_ordered(file, records, 5, type, &status));
    EQUAL(count_of(&status, type), 5);
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Offset bytes = -1;
    OK(MPI_File_get_size(file, &bytes));
    EQUAL(bytes, size * 5 * (1 + 8 + 2));
    OK(MPI_File_read_at_all(file, rank * 5 * 11, back, 5, type, &status));
    for (int i = 0; i < 5; i++) {
        EQUAL(back[i].name, records[i].name);
        CHECK(back[i].value == records[i].value, "%g", back[i].value);
        EQUAL(back[i].tail, records[i].tail);
    }
    OK(MPI_File_close(&file));
    OK(MPI_Type_free(&packed));
    OK(MPI_Type_free(&type));
}

// A place that appears twice in a view may be read, but not written.
static void overlaps(void) {
    MPI_Datatype twice;
    OK(MPI_Type_create_hindexed_block(2, 8, (MPI_Aint[]){0, 4}, MPI_BYTE, &twice));
    OK(MPI_Type_commit(&twice));
    MPI_File file = open_file(MPI_MODE_RDWR);
    FAILS(MPI_File_set_view(file, 0, MPI_BYTE, twice, "native", MPI_INFO_NULL), MPI_ERR_IO);
    OK(MPI_File_close(&file));
    file = open_file(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    unsigned char all[12], seen[16];
    MPI_Status status;
    OK(MPI_File_read_at(file, 0, all, 12, MPI_BYTE, &status));
    OK(MPI_File_set_view(file, 0, MPI_BYTE, twice, "native", MPI_INFO_NULL));
    OK(MPI_File_read(file, seen, 16, MPI_BYTE, &status));
    EQUAL(count_of(&status, MPI_BYTE), 16);
    CHECK(memcmp(seen, all, 8) == 0 && memcmp(seen + 8, all + 4, 8) == 0, "both regions");
    OK(MPI_File_close(&file));
    OK(MPI_Type_free(&twice));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    choose_path();
    longs();
    records();
    overlaps();
    return finish();
}

// ranks: 1 2 3 4
// The shared file pointer, accesses in the order of ranks, and files that are used in sequence
// (MPI-5.0 §14.4.4, §14.4.5, §14.3).
#define _GNU_SOURCE
#include "check.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS = 40, WORDS = 16 };

static char folder[200], path[600];
static MPI_File file;

static void open_file(int mode) {
    OK(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
}

// How many files the folder of the test has, hidden ones too.
static int files(void) {
    int number = 0;
    DIR *all = opendir(folder);
    for (struct dirent *one; all && (one = readdir(all));)
        number += strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0;
    if (all) closedir(all);
    return number;
}

static void counted(MPI_Status *status, int want) {
    int count = -1;
    OK(MPI_Get_count(status, MPI_INT, &count));
    EQUAL(count, want);
}

// Records from all ranks, in any order, whole and each once.
static void records(void) {
    int words[WORDS];
    MPI_Status status;
    MPI_Request request;
    MPI_Offset where = -1;
    for (int i = 0; i < RECORDS; i++) {
        for (int w = 0; w < WORDS; w++) words[w] = rank * RECORDS + i;
        if (i % 2) {
            OK(MPI_File_write_shared(file, words, WORDS, MPI_INT, &status));
        } else {
            OK(MPI_File_iwrite_shared(file, words, WORDS, MPI_INT, &request));
            OK(MPI_Wait(&request, &status));
        }
        counted(&status, WORDS);
    }
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_get_position_shared(file, &where));
    EQUAL(where, (MPI_Offset)size * RECORDS * WORDS);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    int *seen = calloc((size_t)size * RECORDS, sizeof *seen);
    for (int i = 0; i < RECORDS; i++) {
        if (i % 2) {
            OK(MPI_File_read_shared(file, words, WORDS, MPI_INT, &status));
        } else {
            OK(MPI_File_iread_shared(file, words, WORDS, MPI_INT, &request));
            OK(MPI_Wait(&request, &status));
        }
        counted(&status, WORDS);
        for (int w = 1; w < WORDS; w++) EQUAL(words[w], words[0]);
        CHECK(words[0] >= 0 && words[0] < size * RECORDS, "%d is no record", words[0]);
        if (words[0] >= 0 && words[0] < size * RECORDS) seen[words[0]]++;
    }
    OK(MPI_Allreduce(MPI_IN_PLACE, seen, size * RECORDS, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < size * RECORDS; i++) EQUAL(seen[i], 1);
    free(seen);
}

// The pointer stands there.
static void stands_at(MPI_Offset want) {
    MPI_Offset where = -1;
    OK(MPI_File_get_position_shared(file, &where));
    EQUAL(where, want);
}

// Parts of different lengths in the order of ranks; the individual pointer stays where it is.
static void ordered(void) {
    int words[8], sum = size * (size + 1) / 2, before = rank * (rank + 1) / 2;
    MPI_Status status;
    MPI_Offset where = -1;
    OK(MPI_File_seek_shared(file, 5, MPI_SEEK_SET));
    for (int round = 0; round < 2; round++) {
        for (int w = 0; w <= rank; w++) words[w] = 1000 * round + before + w;
        if (round == 0) {
            OK(MPI_File_write_ordered(file, words, rank + 1, MPI_INT, &status));
        } else {
            OK(MPI_File_write_ordered_begin(file, words, rank + 1, MPI_INT));
            REFUSED(MPI_File_read_ordered_begin(file, words, rank + 1, MPI_INT));
            OK(MPI_File_write_ordered_end(file, words, &status));
        }
        counted(&status, rank + 1);
    }
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_sync(file));
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < sum; i++) {
            int word = -1;
            OK(MPI_File_read_at(file, 5 + sum * round + i, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
            EQUAL(word, 1000 * round + i);
        }
    OK(MPI_File_get_position(file, &where));
    EQUAL(where, 0);
    OK(MPI_File_seek_shared(file, -sum, MPI_SEEK_CUR));
    OK(MPI_File_read_ordered_begin(file, words, rank + 1, MPI_INT));
    OK(MPI_File_read_ordered_end(file, words, &status));
    for (int w = 0; w <= rank; w++) EQUAL(words[w], 1000 + before + w);
    OK(MPI_File_seek_shared(file, 5, MPI_SEEK_SET));
    OK(MPI_File_read_ordered(file, words, rank + 1, MPI_INT, &status));
    for (int w = 0; w <= rank; w++) EQUAL(words[w], before + w);
    FAILS(MPI_File_seek_shared(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    // A new view takes the pointer back.
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_get_position_shared(file, &where));
    EQUAL(where, 0);
}

// A file that is used in sequence has no other pointer, and views begin where it stands.
static void sequence(void) {
    int word = rank, all = -1;
    char byte = 'a';
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL,
                     MPI_INFO_NULL, &file));
    REFUSED(MPI_File_write(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_write_ordered(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    REFUSED(MPI_File_set_size(file, 0));
    REFUSED(MPI_File_preallocate(file, 100));
    OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_ordered(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                     &file));
    OK(MPI_File_read_at(file, size + 4 * rank, &all, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    EQUAL(all, rank);
    OK(MPI_File_close(&file));
}

// A file that was opened by a name relative to a folder stays the same when the process goes to another, and through
// whichever link each process has opened it.
static void elsewhere(void) {
    char before[500], own[300], name[300];
    int word = rank;
    CHECK(getcwd(before, sizeof before) != NULL, "there is a folder");
    snprintf(own, sizeof own, "%s/own-%d", folder, rank);
    snprintf(name, sizeof name, "own-%d/link", rank);
    CHECK(mkdir(own, 0700) == 0 && chdir(folder) == 0, "a folder of one's own");
    if (rank > 0) CHECK(symlink("../one", name) == 0, "a link");
    OK(MPI_File_open(MPI_COMM_WORLD, rank ? name : "one",
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK(chdir(own) == 0, "into the folder");
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_shared(file, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Offset bytes = -1;
    OK(MPI_File_get_size(file, &bytes));
    EQUAL(bytes, size * (int)sizeof word);
    OK(MPI_File_close(&file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(chdir(folder) == 0 && access("one", F_OK) != 0, "it was to be deleted");
    if (rank > 0) CHECK(unlink(name) == 0, "the link stays");
    CHECK(chdir(before) == 0 && rmdir(own) == 0, "nothing is left in the folder");
}

// What one process has wrong all hear of, and nothing is moved by what is refused.
static void refusals(void) {
    char byte = 'x', name[256];
    memset(name, 'n', 240);
    name[240] = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    int last = rank == size - 1;
    REFUSED(MPI_File_write_ordered(file, &byte, last ? -1 : 1, MPI_CHAR, MPI_STATUS_IGNORE));
    REFUSED(MPI_File_set_size(file, last ? -1 : 1));
    MPI_Info freed;
    OK(MPI_Info_create(&freed));
    MPI_Info copy = freed;
    OK(MPI_Info_free(&copy));
    REFUSED(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, last ? NULL : "native", MPI_INFO_NULL));
    REFUSED(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", last ? freed : MPI_INFO_NULL));
    MPI_File none;
    REFUSED(MPI_File_open(MPI_COMM_WORLD, last ? NULL : path, MPI_MODE_RDWR, MPI_INFO_NULL, &none));
    REFUSED(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, last ? freed : MPI_INFO_NULL, &none));
    OK(MPI_File_write_ordered(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    REFUSED(MPI_File_write_ordered(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    MPI_Offset where = -1;
    OK(MPI_File_get_position_shared(file, &where));
    EQUAL(where, 0);
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    const char *above = getenv("TMPDIR");
    if (rank == 0) {
        snprintf(folder, sizeof folder, "%s/ferrite-shared-XXXXXX", above ? above : "/tmp");
        CHECK(mkdtemp(folder) != NULL, "a folder can be made");
    }
    OK(MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "%s/t", folder);
    open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
    if (rank == 0) stands_at(0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(files(), size > 1 ? 2 : 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    records();
    EQUAL(files(), 1);
    ordered();
    OK(MPI_File_close(&file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    EQUAL(files(), 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE,
                     MPI_INFO_NULL, &file));
    MPI_Offset bytes = -1, where = -1;
    OK(MPI_File_get_size(file, &bytes));
    OK(MPI_File_get_position_shared(file, &where));
    EQUAL(where, bytes);
    OK(MPI_File_close(&file));
    sequence();
    elsewhere();
    refusals();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) CHECK(rmdir(folder) == 0, "nothing is left");
    return finish();
}

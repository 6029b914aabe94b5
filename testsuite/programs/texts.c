// ranks: 1 2
// Strings are bytes: what a program gives comes back as it was, in whatever encoding, and limits
// count bytes (MPI-5.0 §10, §7.8, §9.5, §14.2). The letters here are Latin-1, which is no UTF-8.
#define _GNU_SOURCE
#include "check.h"
#include <sys/stat.h>
#include <unistd.h>

static const char accented[] = "caf\xe9";

static void value_is(MPI_Info info, const char *key, const char *want) {
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int room = 0, flag = 0;
    OK(MPI_Info_get_string(info, key, &room, NULL, &flag));
    EQUAL(flag, 1);
    EQUAL(room, (int)strlen(want) + 1);
    room = sizeof value;
    OK(MPI_Info_get_string(info, key, &room, value, &flag));
    CHECK(flag && strcmp(value, want) == 0, "%s", value);
}

static void infos(void) {
    MPI_Info info, copy;
    char key[MPI_MAX_INFO_KEY + 1], longest[MPI_MAX_INFO_VAL], part[4];
    int keys = -1, flag = -1, room = sizeof part;
    memset(longest, 0xe9, sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "\xe8", accented));
    OK(MPI_Info_set(info, "\xe9", longest));
    OK(MPI_Info_get_nkeys(info, &keys));
    EQUAL(keys, 2);
    OK(MPI_Info_get_nthkey(info, 0, key));
    CHECK(strcmp(key, "\xe8") == 0, "%s", key);
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_delete(info, "\xe8"));
    value_is(info, "\xe9", longest);
    value_is(copy, "\xe8", accented);
    // What is cut is cut at a byte, within a letter of UTF-8 too.
    OK(MPI_Info_set(copy, "cut", "ab\xc3\xa9"));
    OK(MPI_Info_get_string(copy, "cut", &room, part, &flag));
    EQUAL(room, 5);
    CHECK(strcmp(part, "ab\xc3") == 0, "%s", part);
    OK(MPI_Info_free(&info));
    OK(MPI_Info_free(&copy));

    char program[] = "caf\xe9", word[] = "\xff";
    char *words[] = {program, word, NULL};
    OK(MPI_Info_create_env(2, words, &info));
    value_is(info, "command", accented);
    value_is(info, "argv", "\xff");
    OK(MPI_Info_free(&info));
}

static void names(void) {
    char longest[MPI_MAX_OBJECT_NAME + 1], got[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Comm comm;
    MPI_Datatype type;
    memset(longest, 0xe9, sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_name(comm, accented));
    OK(MPI_Comm_get_name(comm, got, &length));
    EQUAL(length, 4);
    CHECK(strcmp(got, accented) == 0, "%s", got);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_set_name(type, longest)); // cut to what fits
    OK(MPI_Type_get_name(type, got, &length));
    EQUAL(length, MPI_MAX_OBJECT_NAME - 1);
    CHECK(strncmp(got, longest, MPI_MAX_OBJECT_NAME - 1) == 0, "%s", got);
    OK(MPI_Type_free(&type));
}

static void errors(void) {
    char got[MPI_MAX_ERROR_STRING];
    int code = -1, length = -1;
    OK(MPI_Add_error_class(&code));
    OK(MPI_Add_error_string(code, accented));
    OK(MPI_Error_string(code, got, &length));
    EQUAL(length, 4);
    CHECK(strcmp(got, accented) == 0, "%s", got);
}

// The file that a path names is the one that all other programs know by these bytes.
static void files(void) {
    char folder[200] = "", path[300], got[2] = "";
    const char *above = getenv("TMPDIR");
    MPI_File file;
    struct stat about;
    if (rank == 0) {
        snprintf(folder, sizeof folder, "%s/ferrite-texts-XXXXXX", above ? above : "/tmp");
        CHECK(mkdtemp(folder) != NULL, "a folder can be made");
    }
    OK(MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD));
    snprintf(path, sizeof path, "%s/donn\xe9" "es", folder);
    if (rank == 0) {
        FILE *made = fopen(path, "w");
        CHECK(made && fputs("x", made) >= 0 && fclose(made) == 0, "a file of that name");
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    OK(MPI_File_read_ordered(file, got, rank == 0, MPI_CHAR, MPI_STATUS_IGNORE));
    CHECK(rank != 0 || got[0] == 'x', "%s", got);
    OK(MPI_File_close(&file));
    if (rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(stat(path, &about) != 0, "it is deleted");
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                     MPI_INFO_NULL, &file));
    CHECK(stat(path, &about) == 0, "it is made");
    OK(MPI_File_write_shared(file, got, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) CHECK(rmdir(folder) == 0, "nothing is left");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    infos();
    names();
    errors();
    files();
    return finish();
}

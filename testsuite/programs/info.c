// ranks: 1 2
// Info objects: ordered keys with values (MPI-5.0 §10).
#include "check.h"

static void basics(void) {
    MPI_Info info, copy;
    int keys = -1, flag = -1, length = -1;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    OK(MPI_Info_create(&info));
    OK(MPI_Info_get_nkeys(info, &keys));
    EQUAL(keys, 0);
    OK(MPI_Info_set(info, "colour", "rust"));
    OK(MPI_Info_set(info, "size", "12 MiB"));
    OK(MPI_Info_set(info, "colour", "iron")); // replaces
    OK(MPI_Info_get_nkeys(info, &keys));
    EQUAL(keys, 2);
    OK(MPI_Info_get_nthkey(info, 0, key));
    CHECK(strcmp(key, "colour") == 0, "%s", key);
    OK(MPI_Info_get_nthkey(info, 1, key));
    CHECK(strcmp(key, "size") == 0, "%s", key);

    length = sizeof value;
    OK(MPI_Info_get_string(info, "colour", &length, value, &flag));
    CHECK(flag && strcmp(value, "iron") == 0, "%s", value);
    EQUAL(length, 5); // with the final zero
    length = 3;
    memset(value, 'x', sizeof value);
    OK(MPI_Info_get_string(info, "size", &length, value, &flag));
    EQUAL(length, 7);
    CHECK(strcmp(value, "12") == 0 && value[3] == 'x', "cut to what fits, with its zero");
    length = 0;
    OK(MPI_Info_get_string(info, "size", &length, value, &flag));
    EQUAL(length, 7);
    OK(MPI_Info_get_string(info, "weight", &length, value, &flag));
    EQUAL(flag, 0);
    length = 0;
    OK(MPI_Info_get_string(info, "size", &length, NULL, &flag));
    EQUAL(length, 7);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_Info_get_string(info, "size", &length, NULL, &flag), MPI_ERR_ARG);

    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_delete(info, "colour"));
    OK(MPI_Info_get_nkeys(info, &keys));
    EQUAL(keys, 1);
    OK(MPI_Info_get_nkeys(copy, &keys));
    EQUAL(keys, 2);
    OK(MPI_Info_free(&info));
    OK(MPI_Info_free(&copy));
    CHECK(info == MPI_INFO_NULL, "a freed info is null");
}

static void limits(void) {
    MPI_Info info;
    int flag = 0, length;
    static char key[MPI_MAX_INFO_KEY + 2], value[MPI_MAX_INFO_VAL + 2], got[MPI_MAX_INFO_VAL + 2];
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Info_create(&info));
    memset(key, 'k', MPI_MAX_INFO_KEY - 1);
    memset(value, 'v', MPI_MAX_INFO_VAL - 1);
    OK(MPI_Info_set(info, key, value)); // the longest that are allowed
    length = sizeof got;
    OK(MPI_Info_get_string(info, key, &length, got, &flag));
    CHECK(flag && strcmp(got, value) == 0, "the longest value comes back");
    memset(key, 'k', MPI_MAX_INFO_KEY);
    FAILS(MPI_Info_set(info, key, "x"), MPI_ERR_INFO_KEY);
    memset(value, 'v', MPI_MAX_INFO_VAL + 1);
    FAILS(MPI_Info_set(info, "k", value), MPI_ERR_INFO_VALUE);
    FAILS(MPI_Info_delete(info, "absent"), MPI_ERR_INFO_NOKEY);
    OK(MPI_Info_free(&info));
}

static void on_communicators(void) {
    MPI_Info info;
    int keys = -1;
    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
    OK(MPI_Info_get_nkeys(info, &keys));
    for (int i = 0; i < keys; i++) {
        char name[MPI_MAX_INFO_KEY + 1];
        int flag = 0, length;
        OK(MPI_Info_get_nthkey(info, i, name));
        OK(MPI_Info_get_valuelen(info, name, &length, &flag));
        CHECK(flag, "%s is told and cannot be asked for", name);
    }
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys >= 0, "%d keys", keys);
    // Hints that have a default value are there though nobody gave them (§7.4.4).
    const char *promises[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source", "mpi_assert_exact_length",
                              "mpi_assert_allow_overtaking"};
    for (int i = 0; i < 4; i++) {
        char value[8];
        int flag, length = sizeof value;
        OK(MPI_Info_get_string(info, promises[i], &length, value, &flag));
        CHECK(flag && strcmp(value, "false") == 0, "%s is not promised", promises[i]);
    }
    OK(MPI_Comm_set_info(MPI_COMM_WORLD, info));
    OK(MPI_Info_free(&info));
    OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &keys));
    CHECK(keys >= 0, "%d keys of MPI_INFO_ENV", keys);
}

// How the program was started is the same story before MPI_Init and after it.
static void environment(int argc, char **argv, MPI_Info early) {
    const char *keys[] = {"command", "argv", "maxprocs", "host", "arch", "wdir", "thread_level"};
    MPI_Info now;
    OK(MPI_Info_create_env(argc, argv, &now));
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++) {
        char before[MPI_MAX_INFO_VAL + 1] = "", after[MPI_MAX_INFO_VAL + 1] = "";
        int room = sizeof before, there, still;
        OK(MPI_Info_get_string(early, keys[i], &room, before, &there));
        room = sizeof after;
        OK(MPI_Info_get_string(now, keys[i], &room, after, &still));
        CHECK(there == still && strcmp(before, after) == 0, "%s: %s, then %s", keys[i], before, after);
        if (strcmp(keys[i], "maxprocs") == 0 && there) EQUAL(atoi(before), size);
    }
    OK(MPI_Info_free(&now));
    OK(MPI_Info_free(&early));
}

int main(int argc, char **argv) {
    MPI_Info early;
    MPI_Info_create_env(argc, argv, &early);
    start(&argc, &argv);
    environment(argc, argv, early);
    basics();
    limits();
    on_communicators();
    return finish();
}

// ranks: 1 2
// What is deprecated but still there: old attribute and info calls (MPI-5.0 §16).
#include "check.h"

static int copied, deleted;

static int copy(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag) {
    (void)comm;
    (void)keyval;
    (void)state;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *state) {
    (void)comm;
    (void)keyval;
    (void)value;
    (void)state;
    deleted++;
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    int keyval, flag = 0, length = 0, value = 4, *got = NULL;
    MPI_Comm comm, heir;
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Keyval_create(copy, delete, &keyval, NULL));
    OK(MPI_Attr_put(comm, keyval, &value));
    OK(MPI_Attr_get(comm, keyval, &got, &flag));
    CHECK(flag && got == &value, "the attribute that was put");
    OK(MPI_Comm_dup(comm, &heir));
    EQUAL(copied, 1);
    OK(MPI_Attr_delete(comm, keyval));
    EQUAL(deleted, 1);
    OK(MPI_Attr_get(comm, keyval, &got, &flag));
    EQUAL(flag, 0);
    OK(MPI_Comm_free(&heir));
    EQUAL(deleted, 2);
    OK(MPI_Keyval_free(&keyval));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &got, &flag));
    CHECK(flag && *got >= 32767, "predefined attributes answer to the old call");

    MPI_Info info;
    char text[32];
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "metal", "iron"));
    OK(MPI_Info_get_valuelen(info, "metal", &length, &flag));
    CHECK(flag && length == 4, "length %d", length);
    OK(MPI_Info_get(info, "metal", 31, text, &flag));
    CHECK(flag && strcmp(text, "iron") == 0, "%s", text);
    OK(MPI_Info_get(info, "metal", 2, text, &flag));
    CHECK(flag && strcmp(text, "ir") == 0, "cut: %s", text);
    OK(MPI_Info_get(info, "wood", 31, text, &flag));
    EQUAL(flag, 0);
    // The length is not touched where there is no such key.
    flag = 1, length = 77;
    OK(MPI_Info_get_valuelen(info, "wood", &length, &flag));
    CHECK(!flag && length == 77, "length %d", length);
    OK(MPI_Info_free(&info));
    return finish();
}

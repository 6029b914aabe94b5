// ranks: 1 2
// Attributes on communicators and datatypes: copied, replaced, deleted (MPI-5.0 §7.7, §9.1.2).
#include "check.h"

static int copies, deletions, last_deleted, extra = 42;

static int copy_comm(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag) {
    (void)comm;
    (void)keyval;
    CHECK(state == &extra, "the extra state comes through");
    copies++;
    *flag = *(int *)in != 13; // an unlucky number is not copied
    *(void **)out = in;
    return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int keyval, void *value, void *state) {
    (void)comm;
    (void)keyval;
    CHECK(state == &extra, "the extra state comes through");
    deletions++;
    last_deleted = *(int *)value;
    return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int keyval, void *value, void *state) {
    (void)comm;
    (void)keyval;
    (void)value;
    (void)state;
    return MPI_ERR_OTHER;
}

static void on_communicators(void) {
    int keyval, flag, one = 1, two = 2, unlucky = 13, *got = NULL;
    MPI_Comm comm, heir, second;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_keyval(copy_comm, delete_comm, &keyval, &extra));
    OK(MPI_Comm_get_attr(comm, keyval, &got, &flag));
    EQUAL(flag, 0);
    OK(MPI_Comm_set_attr(comm, keyval, &one));
    OK(MPI_Comm_get_attr(comm, keyval, &got, &flag));
    CHECK(flag && got == &one, "the pointer that was set");
    OK(MPI_Comm_set_attr(comm, keyval, &two)); // replacing deletes the old one
    EQUAL(deletions, 1);
    EQUAL(last_deleted, 1);
    OK(MPI_Comm_dup(comm, &heir));
    EQUAL(copies, 1);
    OK(MPI_Comm_get_attr(heir, keyval, &got, &flag));
    CHECK(flag && got == &two, "the heir has it");
    OK(MPI_Comm_set_attr(comm, keyval, &unlucky));
    OK(MPI_Comm_dup(comm, &second));
    OK(MPI_Comm_get_attr(second, keyval, &got, &flag));
    EQUAL(flag, 0);
    OK(MPI_Comm_delete_attr(comm, keyval));
    EQUAL(last_deleted, 13);
    OK(MPI_Comm_delete_attr(comm, keyval)); // there is none, and no function that could fail (§7.7.4)
    int before = deletions, kept = keyval;
    OK(MPI_Comm_free_keyval(&keyval)); // stays alive while an attribute uses it
    EQUAL(keyval, MPI_KEYVAL_INVALID);
    OK(MPI_Comm_free(&heir));
    EQUAL(deletions, before + 1);
    EQUAL(last_deleted, 2);
    CHECK(kept != MPI_KEYVAL_INVALID, "it was a key before");
    OK(MPI_Comm_free(&second));
    OK(MPI_Comm_free(&comm));
    EQUAL(deletions, before + 1);
}

// A delete function that fails keeps the communicator alive (§7.7.2).
static void refusing(void) {
    int keyval, value = 1, flag = 0, *got;
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, refuse, &keyval, NULL));
    OK(MPI_Comm_set_attr(comm, keyval, &value));
    REFUSED(MPI_Comm_delete_attr(comm, keyval));
    OK(MPI_Comm_get_attr(comm, keyval, &got, &flag));
    EQUAL(flag, 1);
}

static int refuse_copy(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag) {
    (void)comm;
    (void)keyval;
    (void)state;
    *(void **)out = in;
    *flag = 1;
    return MPI_ERR_OTHER;
}

// A copy function that fails lets there be no duplicate (§7.7.2).
static void not_copied(void) {
    int keyval, value = 1;
    MPI_Comm comm, heir = MPI_COMM_SELF;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Comm_set_attr(comm, keyval, &value));
    REFUSED(MPI_Comm_dup(comm, &heir));
    CHECK(heir == MPI_COMM_NULL, "there is none");
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free_keyval(&keyval));
}

static void on_types(void) {
    int keyval, flag, value = 7, *got;
    MPI_Datatype type, twin;
    OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_set_attr(type, keyval, &value));
    OK(MPI_Type_dup(type, &twin));
    OK(MPI_Type_get_attr(twin, keyval, &got, &flag));
    CHECK(flag && got == &value, "the dup function copies");
    OK(MPI_Type_delete_attr(twin, keyval));
    OK(MPI_Type_get_attr(twin, keyval, &got, &flag));
    EQUAL(flag, 0);
    OK(MPI_Type_free(&twin));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free_keyval(&keyval));
}

static void predefined(void) {
    static int finalizing = 5;
    int *value, flag = 0;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767, "MPI_TAG_UB");
    int word = rank, other = size - 1 - rank, got = -1;
    OK(MPI_Sendrecv(&word, 1, MPI_INT, other, *value, &got, 1, MPI_INT, other, *value,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE)); // the largest tag works
    EQUAL(got, other);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    CHECK(!flag || *value == 0 || *value == 1, "MPI_WTIME_IS_GLOBAL");
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    CHECK(!flag || *value >= 0, "MPI_APPNUM");
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value >= size, "MPI_UNIVERSE_SIZE");
    int keyval;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm, &keyval, &extra));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &finalizing)); // deleted first thing in finalize
    // Which ends all the same if a function refuses.
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &keyval, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &finalizing));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    on_communicators();
    refusing();
    not_copied();
    on_types();
    predefined();
    int before = deletions;
    int code = finish();
    if (deletions != before + 1 || last_deleted != 5) {
        fprintf(stderr, "rank %d: finalize did not delete the attribute of MPI_COMM_SELF\n", rank);
        return 1;
    }
    return code;
}

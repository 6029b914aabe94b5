// ranks: 1 2 3 4
// Sessions, process sets and what is made of them (MPI-5.0 §11.3), beside the world model and without it.
#include "check.h"

static int handled;
static MPI_Session expected;

static void count(MPI_Session *session, int *code, ...) {
    int class = 0;
    MPI_Error_class(*code, &class);
    EQUAL(class, MPI_ERR_ARG);
    CHECK(*session == expected, "the handler is told its session");
    handled++;
}

static int awaited;

static void count_unmade(MPI_Comm *comm, int *code, ...) {
    int class = 0;
    MPI_Error_class(*code, &class);
    EQUAL(class, awaited);
    CHECK(*comm == MPI_COMM_NULL, "there is no communicator yet");
    handled++;
}

static MPI_Session begin(void) {
    MPI_Session session = MPI_SESSION_NULL;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK(session != MPI_SESSION_NULL, "there is a session");
    return session;
}

static MPI_Comm all(MPI_Session session, const char *tag) {
    MPI_Group group;
    MPI_Comm comm = MPI_COMM_NULL;
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Group_free(&group));
    return comm;
}

static void sum_on(MPI_Comm comm) {
    int own = rank + 1, sum = 0;
    OK(MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, comm));
    EQUAL(sum, size * (size + 1) / 2);
}

// Names, sizes and groups of the sets that every session has (§11.3.2).
static void sets(MPI_Session session) {
    int number = 0, seen = 0;
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &number));
    CHECK(number >= 2, "there are %d sets", number);
    for (int n = 0; n < number; n++) {
        char name[MPI_MAX_PSET_NAME_LEN], text[16] = "";
        int needed = 0, length = sizeof text, flag = 0, members = 0;
        MPI_Info info;
        MPI_Group group;
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &needed, NULL));
        OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &needed, name));
        EQUAL(needed, strlen(name) + 1);
        OK(MPI_Session_get_pset_info(session, name, &info));
        OK(MPI_Info_get_string(info, "mpi_size", &length, text, &flag));
        CHECK(flag, "mpi_size is known");
        OK(MPI_Info_free(&info));
        OK(MPI_Group_from_session_pset(session, name, &group));
        OK(MPI_Group_size(group, &members));
        EQUAL(members, atoi(text));
        if (strcmp(name, "mpi://WORLD") == 0) {
            seen |= 1;
            OK(MPI_Group_rank(group, &rank));
            size = members;
        }
        if (strcmp(name, "mpi://SELF") == 0) {
            seen |= 2;
            EQUAL(members, 1);
        }
        OK(MPI_Group_free(&group));
    }
    EQUAL(seen, 3);
    int needed = 0;
    MPI_Group none;
    FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, number, &needed, NULL), MPI_ERR_ARG);
    needed = 4;
    FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &needed, NULL), MPI_ERR_ARG);
    OK(MPI_Group_from_session_pset(session, "mpi://NOBODY", &none));
    CHECK(none == MPI_GROUP_NULL, "there is no such set");
}

static void hints(void) {
    MPI_Session session;
    MPI_Info asked, got;
    char text[200] = "";
    int length = sizeof text, flag = 0;
    OK(MPI_Info_create(&asked));
    OK(MPI_Info_set(asked, "thread_level", "FUNNELED"));
    FAILS(MPI_Session_init(asked, MPI_ERRORS_RETURN, &session), MPI_ERR_INFO_VALUE);
    OK(MPI_Info_set(asked, "thread_level", "MPI_THREAD_FUNNELED"));
    OK(MPI_Info_set(asked, "mpi_memory_alloc_kinds", "system,mpi:alloc_mem,martian:device"));
    OK(MPI_Session_init(asked, MPI_ERRORS_RETURN, &session));
    OK(MPI_Info_free(&asked));
    OK(MPI_Session_get_info(session, &got));
    OK(MPI_Info_get_string(got, "thread_level", &length, text, &flag));
    CHECK(flag && strncmp(text, "MPI_THREAD_", 11) == 0, "the level is %s", text);
    length = sizeof text;
    OK(MPI_Info_get_string(got, "mpi_memory_alloc_kinds", &length, text, &flag));
    CHECK(flag && strstr(text, "system") && strstr(text, "mpi"), "the kinds are %s", text);
    CHECK(!strstr(text, "martian"), "the kinds are %s", text);
    OK(MPI_Info_free(&got));
    // What is made of the session tells the same, and keeps what the program promises of it.
    MPI_Group self;
    MPI_Comm comm;
    char kinds[200] = "", promise[8] = "";
    OK(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
    OK(MPI_Info_create(&asked));
    OK(MPI_Info_set(asked, "mpi_assert_no_any_source", "true"));
    OK(MPI_Info_set(asked, "mpi_assert_memory_alloc_kinds", "martian"));
    OK(MPI_Comm_create_from_group(self, "hints", asked, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Info_free(&asked));
    OK(MPI_Comm_get_info(comm, &got));
    length = sizeof kinds;
    OK(MPI_Info_get_string(got, "mpi_memory_alloc_kinds", &length, kinds, &flag));
    CHECK(flag && strcmp(kinds, text) == 0, "the kinds are %s", kinds);
    length = sizeof promise;
    OK(MPI_Info_get_string(got, "mpi_assert_no_any_source", &length, promise, &flag));
    CHECK(flag && strcmp(promise, "true") == 0, "the promise is %s", promise);
    OK(MPI_Info_get_string(got, "mpi_assert_memory_alloc_kinds", &length, promise, &flag));
    CHECK(!flag, "a kind that is not served cannot be promised");
    OK(MPI_Info_free(&got));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&self));
    OK(MPI_Session_finalize(&session));
    CHECK(session == MPI_SESSION_NULL, "the handle is null");
}

static void handlers(void) {
    MPI_Errhandler own, attached;
    int needed = 0;
    OK(MPI_Session_create_errhandler(count, &own));
    OK(MPI_Session_init(MPI_INFO_NULL, own, &expected));
    OK(MPI_Session_call_errhandler(expected, MPI_ERR_ARG));
    EQUAL(handled, 1);
    REFUSED(MPI_Session_get_nth_pset(expected, MPI_INFO_NULL, -1, &needed, NULL));
    EQUAL(handled, 2);
    OK(MPI_Session_get_errhandler(expected, &attached));
    CHECK(attached == own, "it is the one attached");
    OK(MPI_Errhandler_free(&attached));
    OK(MPI_Session_set_errhandler(expected, MPI_ERRORS_RETURN));
    REFUSED(MPI_Session_get_nth_pset(expected, MPI_INFO_NULL, -1, &needed, NULL));
    EQUAL(handled, 2);
    OK(MPI_Errhandler_free(&own));
    OK(MPI_Session_finalize(&expected));
}

// Who is to handle the errors of a communicator or session handles those of making it, of whichever argument (§7.4.2,
// §7.6.2, §11.3.1).
static void unmade(void) {
    MPI_Errhandler own, of_session;
    MPI_Comm comm = MPI_COMM_NULL;
    handled = 0;
    awaited = MPI_ERR_GROUP;
    OK(MPI_Comm_create_errhandler(count_unmade, &own));
    FAILS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "none", MPI_INFO_NULL, own, &comm),
          MPI_ERR_GROUP);
    FAILS(MPI_Intercomm_create_from_groups(MPI_GROUP_NULL, 0, MPI_GROUP_NULL, 0, "none",
                                           MPI_INFO_NULL, own, &comm),
          MPI_ERR_GROUP);
    EQUAL(handled, 2);
    FAILS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                     &comm),
          MPI_ERR_GROUP);
    CHECK(comm == MPI_COMM_NULL, "none was made");
    awaited = MPI_ERR_ARG;
    FAILS(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, own, NULL), MPI_ERR_ARG);
    FAILS(MPI_Intercomm_create_from_groups(MPI_GROUP_EMPTY, 0, MPI_GROUP_EMPTY, 0, NULL, MPI_INFO_NULL,
                                           own, &comm),
          MPI_ERR_ARG);
    EQUAL(handled, 4);
    OK(MPI_Errhandler_free(&own));
    expected = MPI_SESSION_NULL;
    OK(MPI_Session_create_errhandler(count, &of_session));
    FAILS(MPI_Session_init(MPI_INFO_NULL, of_session, NULL), MPI_ERR_ARG);
    EQUAL(handled, 5);
    OK(MPI_Errhandler_free(&of_session));
}

// Communicators of parts of a set, of both halves, and what is made of them.
static void communicators(MPI_Session session) {
    MPI_Group world, part, rest, self;
    MPI_Comm comm, other, pair;
    int one = 0, sum = 0, number = 0;
    OK(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
    OK(MPI_Comm_create_from_group(self, "alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 7, &one, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE));
    EQUAL(one, rank);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&self));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    int range[1][3] = {{0, size - 1, 2}};
    OK(MPI_Group_range_incl(world, 1, range, &part));
    OK(MPI_Group_difference(world, part, &rest));
    MPI_Group mine = rank % 2 == 0 ? part : rest, theirs = rank % 2 == 0 ? rest : part;
    OK(MPI_Comm_create_from_group(mine, "half", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Comm_dup(comm, &other));
    one = 1;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other));
    OK(MPI_Group_size(mine, &number));
    EQUAL(sum, number);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_free(&comm));
    if (size > 1) {
        OK(MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "halves", MPI_INFO_NULL,
                                            MPI_ERRORS_RETURN, &pair));
        OK(MPI_Comm_remote_size(pair, &number));
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, pair));
        EQUAL(sum, number);
        OK(MPI_Comm_free(&pair));
    }
    OK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "none", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK(comm == MPI_COMM_NULL, "nobody has no communicator");
    OK(MPI_Group_free(&part));
    if (rest != MPI_GROUP_EMPTY) OK(MPI_Group_free(&rest));
    OK(MPI_Group_free(&world));
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
// A session's buffer serves what is derived from it, and nothing else (§3.6).
static void buffers(MPI_Session session) {
    static char room[2000];
    void *back = NULL;
    int bytes = 0, got = -1;
    MPI_Session other = begin();
    MPI_Comm comm = all(session, "buffered"), beside = all(other, "beside"), half;
    OK(MPI_Session_attach_buffer(session, room, sizeof room));
    OK(MPI_Comm_split(comm, rank % 2, 0, &half));
    OK(MPI_Bsend(&rank, 1, MPI_INT, 0, 1, half));
    OK(MPI_Bsend(&rank, 1, MPI_INT, (rank + 1) % size, 2, comm));
    FAILS(MPI_Bsend(&rank, 1, MPI_INT, (rank + 1) % size, 2, beside), MPI_ERR_BUFFER);
    OK(MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 2, comm, MPI_STATUS_IGNORE));
    EQUAL(got, (rank + size - 1) % size);
    int halves = 0, place = -1;
    OK(MPI_Comm_size(half, &halves));
    OK(MPI_Comm_rank(half, &place));
    for (int i = 0; place == 0 && i < halves; i++)
        OK(MPI_Recv(&got, 1, MPI_INT, i, 1, half, MPI_STATUS_IGNORE));
    OK(MPI_Session_flush_buffer(session));
    OK(MPI_Session_detach_buffer(session, &back, &bytes));
    CHECK(back == room, "it is the buffer attached");
    EQUAL(bytes, sizeof room);
    OK(MPI_Comm_free(&half));
    OK(MPI_Comm_free(&beside));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&other));
}
#endif

// The end of a session does not wait for what others have sent and nobody has received yet (§11.3.1).
static void ends_beside(MPI_Comm comm) {
    enum { LONG = 1 << 20 };
    static char out[LONG], in[LONG];
    MPI_Request request;
    MPI_Session session = begin();
    OK(MPI_Isend(out, LONG, MPI_CHAR, (rank + 1) % size, 3, comm, &request));
    OK(MPI_Session_finalize(&session));
    OK(MPI_Recv(in, LONG, MPI_CHAR, (rank + size - 1) % size, 3, comm, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv) {
    int flag = 1;
    hints();
    handlers();
    MPI_Session session = begin();
    sets(session);
    OK(MPI_Initialized(&flag));
    CHECK(!flag, "a session is not the world model");
    communicators(session);
    unmade();
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    buffers(session);
#endif
    for (int round = 0; round < 200; round++) {
        // One ends beside another; then the last one of all, after which another begins.
        MPI_Session second = begin();
        MPI_Comm comm = all(second, "round");
        OK(MPI_Session_finalize(&session));
        sum_on(comm);
        OK(MPI_Comm_free(&comm));
        OK(MPI_Session_finalize(&second));
        session = begin();
    }
    MPI_Comm comm = all(session, "outside");
    start(&argc, &argv);
    sum_on(comm);
    sum_on(MPI_COMM_WORLD);
    ends_beside(comm);
    ends_beside(MPI_COMM_WORLD);
    int ending = finish();
    OK(MPI_Finalized(&flag));
    CHECK(flag, "the world model is over");
    sum_on(comm);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    session = begin();
    comm = all(session, "after");
    sum_on(comm);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Session_finalize(&session));
    return ending || failures;
}

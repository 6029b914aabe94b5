// ranks: 1 2
// Sessions in a world that has MPI serve one thread at a time: they are told so (MPI-5.0 §11.3.1), and the error
// handler of one that cannot begin may begin another.
#include "check.h"

static MPI_Session from_handler = MPI_SESSION_NULL;

static void begin_one_more(MPI_Session *session, int *code, ...) {
    (void)session;
    (void)code;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &from_handler);
}

static void has_level(const char *asked, const char *granted) {
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Info info, used;
    char text[MPI_MAX_INFO_VAL] = "";
    int length = sizeof text, flag = 0;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", asked));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_get_info(session, &used));
    OK(MPI_Info_get_string(used, "thread_level", &length, text, &flag));
    CHECK(flag && strcmp(text, granted) == 0, "for %s there is %s", asked, text);
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));
    OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv) {
    MPI_Errhandler handler;
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Info freed;
    start(&argc, &argv);
    has_level("MPI_THREAD_SINGLE", "MPI_THREAD_SINGLE");
    has_level("MPI_THREAD_MULTIPLE", "MPI_THREAD_SERIALIZED");
    OK(MPI_Info_create(&freed));
    MPI_Info none = freed;
    OK(MPI_Info_free(&freed));
    OK(MPI_Session_create_errhandler(begin_one_more, &handler));
    CHECK(MPI_Session_init(none, handler, &session) != MPI_SUCCESS, "there is no such info");
    CHECK(from_handler != MPI_SESSION_NULL, "the handler has begun a session");
    OK(MPI_Session_finalize(&from_handler));
    OK(MPI_Errhandler_free(&handler));
    return finish();
}

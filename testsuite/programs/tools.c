// ranks: 1
// The tool information interface, which shows nothing and calls no error handler (MPI-5.0 §15.3): before
// MPI_Init, while MPI runs with errors that are fatal, and after MPI_Finalize.
#include "check.h"

static void numbers(void) {
    int number = -1;
    OK(MPI_T_cvar_get_num(&number));
    EQUAL(number, 0);
    number = -1;
    OK(MPI_T_pvar_get_num(&number));
    EQUAL(number, 0);
    number = -1;
    OK(MPI_T_category_get_num(&number));
    EQUAL(number, 0);
    number = -1;
    OK(MPI_T_category_changed(&number));
    EQUAL(number, 0);
#ifdef MPI_T_ERR_NOT_SUPPORTED
    number = -1;
    OK(MPI_T_event_get_num(&number));
    EQUAL(number, 0);
    number = -1;
    OK(MPI_T_source_get_num(&number));
    EQUAL(number, 0);
#endif
}

static void nothing_is_there(void) {
    int index = 7, count = 0, word = 0, length = 0;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_pvar_handle variable = MPI_T_PVAR_HANDLE_NULL;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    EQUAL(MPI_T_cvar_get_index("none", &index), MPI_T_ERR_INVALID_NAME);
    EQUAL(MPI_T_pvar_get_index("none", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_T_ERR_INVALID_NAME);
    EQUAL(MPI_T_category_get_index("none", &index), MPI_T_ERR_INVALID_NAME);
    EQUAL(index, 7);
    EQUAL(MPI_T_cvar_get_info(0, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
          MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_category_get_info(0, NULL, &length, NULL, NULL, NULL, NULL, NULL),
          MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_cvar_handle_alloc(0, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_cvar_read(handle, &word), MPI_T_ERR_INVALID_HANDLE);
    EQUAL(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &word, NULL, &length), MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_pvar_session_create(&session));
    CHECK(session != MPI_T_PVAR_SESSION_NULL, "there is a session");
    EQUAL(MPI_T_pvar_handle_alloc(session, 0, NULL, &variable, &count), MPI_T_ERR_INVALID_INDEX);
    EQUAL(MPI_T_pvar_start(session, variable), MPI_T_ERR_INVALID_HANDLE);
    // All of none are started, stopped and reset (§15.3.7).
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL, "it is gone");
    EQUAL(MPI_T_pvar_session_free(&session), MPI_T_ERR_INVALID_SESSION);
    EQUAL(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION);
}

// The codes are error codes as others are (§15.3.10).
static void codes(void) {
    char text[MPI_MAX_ERROR_STRING];
    int class = 0, length = 0;
    OK(MPI_Error_class(MPI_T_ERR_INVALID_INDEX, &class));
    EQUAL(class, MPI_T_ERR_INVALID_INDEX);
    OK(MPI_Error_string(MPI_T_ERR_INVALID_NAME, text, &length));
    CHECK(length > 0 && strstr(text, "MPI_T_ERR_INVALID_NAME"), "%s", text);
}

int main(int argc, char **argv) {
    int provided = -1;
    EQUAL(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_FUNNELED, &provided));
    CHECK(provided >= MPI_THREAD_FUNNELED, "level %d", provided);
    numbers();
    nothing_is_there();
    start(&argc, &argv);
    numbers();
    nothing_is_there();
    codes();
    int result = finish();
    numbers();
    OK(MPI_T_finalize());
    return result || failures;
}

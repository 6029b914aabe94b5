/* The program's own functions, of every type that MPI calls: each does as little as it may, or fails. */
#include "fuzz.h"

static void on_op(void *in, void *inout, void *count, MPI_Datatype *datatype)
{
    (void)in, (void)inout, (void)count, (void)datatype;
}

/* Handles are as wide as a register or come in the lower half of one. */
static int on_copy(long object, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)object, (void)keyval, (void)extra;
    *(void **)out = in;
    *flag = once_in(2);
    return once_in(16) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int on_delete(long object, int keyval, void *value, void *extra)
{
    (void)object, (void)keyval, (void)value, (void)extra;
    return once_in(16) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void on_error(void *object, int *code, ...)
{
    (void)object, (void)code;
}

static int on_query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, below(5));
    return once_in(16) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int on_request_free(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int on_cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static int on_conversion(void *user, MPI_Datatype type, long count, void *file, long position, void *extra)
{
    (void)user, (void)type, (void)count, (void)file, (void)position, (void)extra;
    return once_in(4) ? MPI_ERR_CONVERSION : MPI_SUCCESS;
}

static int on_extent(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    (void)type, (void)extra;
    *extent = below(16);
    return MPI_SUCCESS;
}

static void on_event(void)
{
}

#define IS(what, function)                                                                                             \
    if (strstr(type, what))                                                                                            \
        return (void *)function;

void *function_called(const char *type)
{
    IS("User_function", on_op)
    IS("copy", on_copy)
    IS("Copy", on_copy)
    IS("elete", on_delete)
    IS("errhandler", on_error)
    IS("query", on_query)
    IS("free_function", on_request_free)
    IS("cancel", on_cancel)
    IS("conversion", on_conversion)
    IS("extent", on_extent)
    return (void *)on_event;
}

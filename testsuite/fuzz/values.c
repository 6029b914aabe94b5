/* The arguments of a call: mostly such as belong there, and now and then something odd. Arrays are as long as the
   call says they are, and results have the room that they may take. */
#include "fuzz.h"

enum { MANY = 1024 };

#define ONE_OF(...)                                                                                                    \
    do {                                                                                                               \
        static const long all[] = { __VA_ARGS__ };                                                                     \
        return all[below(sizeof all / sizeof *all)];                                                                   \
    } while (0)

static long extreme(int size)
{
    if (size == (int)sizeof(int))
        ONE_OF(INT32_MAX, INT32_MIN, -1, -2, 1 << 30, 65536, 1000);
    ONE_OF(INT64_MAX, INT64_MIN, -1, INT32_MAX, 1L << 32, 1L << 40, 1L << 61, INT64_MAX - 7, -(1L << 40));
}

/* A constant of its group. */
static long constant(const char *group)
{
    if (!strcmp(group, "split_type"))
        ONE_OF(MPI_COMM_TYPE_SHARED, MPI_UNDEFINED, MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_HW_GUIDED);
    if (!strcmp(group, "order") || !strcmp(group, "distribution"))
        ONE_OF(MPI_ORDER_C, MPI_ORDER_FORTRAN, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE);
    if (!strcmp(group, "dist_arg"))
        return once_in(2) ? MPI_DISTRIBUTE_DFLT_DARG : below(4);
    if (!strcmp(group, "type_class"))
        ONE_OF(MPI_TYPECLASS_REAL, MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_COMPLEX);
    if (!strcmp(group, "lock_type"))
        ONE_OF(MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE);
    if (!strcmp(group, "rma_assert"))
        ONE_OF(0, 0, MPI_MODE_NOCHECK, MPI_MODE_NOPUT, MPI_MODE_NOSTORE, MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED);
    if (!strcmp(group, "file_mode"))
        ONE_OF(MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_MODE_RDONLY, MPI_MODE_CREATE | MPI_MODE_WRONLY,
               MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_MODE_RDWR | MPI_MODE_APPEND,
               MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_MODE_EXCL | MPI_MODE_RDWR);
    if (!strcmp(group, "seek"))
        ONE_OF(MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END);
    return below(4);
}

static int is(const struct parameter *parameter, const char *word)
{
    return !strcmp(parameter->word, word);
}

/* A count, a place, a size: all that is a number of something. */
static long number(const struct procedure *procedure, const struct parameter *parameter, int wild)
{
    int of_packed = !strcmp(parameter->name, "insize") || !strcmp(parameter->name, "outsize");
    int promises_memory = is(parameter, "bytes") || of_packed || (is(parameter, "size") && procedure->is_data);
    if (parameter->is_length)
        return wild ? (once_in(2) ? 64 : -1 - below(2)) : below(7);
    if (promises_memory)
        return wild ? -below(3) : below(4096);
    if (is(parameter, "disp_unit"))
        return wild ? extreme(parameter->size) : 1 + below(8);
    if (is(parameter, "count") || is(parameter, "count64"))
        return wild ? extreme(parameter->size) : once_in(8) ? 17 + below(20000) : below(17);
    if (is(parameter, "displ"))
        return below(wild ? 40 : 17);
    return wild ? extreme(parameter->size) : below(20) - 2;
}

static char *text(int wild)
{
    static const char *const TEXTS_OF_ALL[] = {
        "fuzz0", "fuzz1", "fuzz2", "native", "external32", "internal", "mpi://SELF", "mpi://WORLD", "a", "key", "true",
        "false", "no_locks", "mpi_assert_no_any_tag", "mpi_hw_resource_type", "mpi_memory_alloc_kinds", "thread_level",
        "alloc_shared_noncontig", "cb_buffer_size", "striping_unit", "4096", "-1", "99999999999999999999"
    };
    static char lengthy[5000];
    if (!wild)
        return (char *)TEXTS_OF_ALL[below(sizeof TEXTS_OF_ALL / sizeof *TEXTS_OF_ALL)];
    switch (below(4)) {
    case 0:
        return NULL;
    case 1:
        return "";
    case 2:
        return "\xff\xfe\x80 \n%s%n";
    default:
        memset(lengthy, 'x', sizeof lengthy - 1);
        return lengthy + below(sizeof lengthy);
    }
}

/* One value that is passed as it is, or an element of an array. */
static long value(const struct procedure *procedure, const struct parameter *parameter, int wild)
{
    switch (parameter->kind) {
    case COMM: case GROUP: case OP: case REQUEST: case ERRHANDLER: case INFO: case WIN: case FILE_HANDLE: case SESSION:
    case MESSAGE:
        return pick_handle(parameter->kind, wild);
    case DATATYPE:
        return procedure->is_data ? pick_tame_datatype(wild) : pick_handle(DATATYPE, wild);
    case TOOL:
        return pick_tool();
    case COUNT:
        return number(procedure, parameter, wild);
    case RANK:
        if (wild)
            return once_in(2) ? below(8) - 4 : extreme(sizeof(int));
        return once_in(8) ? MPI_PROC_NULL : once_in(8) ? MPI_ANY_SOURCE : 0;
    case TAG:
        return wild ? (once_in(2) ? below(200000) - 5 : extreme(sizeof(int))) : once_in(8) ? MPI_ANY_TAG : below(3);
    case LOGICAL:
        return wild ? extreme(sizeof(int)) : below(2);
    case ERROR_CODE:
        return wild ? extreme(sizeof(int)) : below(MPI_ERR_LASTCODE + 4);
    case CONSTANT:
        if (is(parameter, "keyval"))
            return pick_keyval(parameter->name, wild);
        return wild ? extreme(sizeof(int)) : constant(parameter->word);
    case TEXT:
        return (long)text(wild);
    case FUNCTION:
        return wild ? 0 : (long)function_called(parameter->word);
    case INT:
        if (parameter->is_length)
            return number(procedure, parameter, wild);
        /* fall through */
    default:
        return wild ? extreme(parameter->size) : below(6) - 1;
    }
}

/* What a variable has before the call: where a handle goes, none, so that one that comes is seen. */
static long first_value(const struct procedure *procedure, const struct parameter *parameter, int wild)
{
    if (parameter->way == OUT && parameter->kind < HANDLES)
        return null_handle(parameter->kind);
    return value(procedure, parameter, wild);
}

/* How many elements an array has, of which another argument tells, or enough for all that may be asked. */
static size_t elements(const struct call *call, const struct parameter *parameter)
{
    if (parameter->length < 0)
        return MANY;
    const struct parameter *says = &call->procedure->parameter[parameter->length];
    long length = call->argument[parameter->length];
    if (says->way != IN)
        return MANY;
    return length < 0 ? 0 : (size_t)length;
}

static long array(const struct call *call, int at)
{
    const struct parameter *parameter = &call->procedure->parameter[at];
    size_t values = elements(call, parameter) * (size_t)parameter->array;
    char *first = piece(values * (size_t)parameter->size);
    if (call->wild[at] && once_in(4))
        return 0;
    for (size_t i = 0; i < values && i < 64; i++) {
        int wild = call->wild[at] && once_in(4);
        long entry = first_value(call->procedure, parameter, wild);
        store(first + i * (size_t)parameter->size, entry, parameter->size);
    }
    return (long)first;
}

static long texts(int wild)
{
    char **all = piece(9 * sizeof *all);
    int length = below(8);
    for (int i = 0; i < 8; i++)
        all[i] = text(0);
    all[wild || length ? 8 : 0] = NULL;
    return wild && once_in(2) ? 0 : (long)all;
}

static long status(const struct parameter *parameter, int wild)
{
    size_t values = parameter->array ? MANY : 1;
    MPI_Status *first = piece(values * sizeof *first);
    if (parameter->way == OUT && once_in(4))
        return (long)(parameter->array ? MPI_STATUSES_IGNORE : MPI_STATUS_IGNORE);
    for (size_t i = 0; i < sizeof *first / sizeof(int); i++)
        ((int *)first)[i] = wild ? (int)draw() : 0;
    return wild && once_in(3) ? (long)MPI_STATUS_IGNORE : wild && once_in(3) ? 0 : (long)first;
}

/* Where a text goes, of as many bytes as the call says or as any such text may have. */
static long text_place(const struct call *call, const struct parameter *parameter, int wild)
{
    long room = parameter->size;
    if (parameter->length >= 0) {
        const struct parameter *says = &call->procedure->parameter[parameter->length];
        long length = call->argument[parameter->length];
        if (says->way == IN)
            room = length + 1;
        else
            room = length ? load((void *)length, sizeof(int)) : 0;
    }
    char *first = piece(room < 0 ? 0 : (size_t)room);
    return wild && once_in(2) ? 0 : (long)first;
}

/* The length of a text's place: given, or a variable. */
static long text_length(const struct parameter *parameter, int wild)
{
    long length = wild ? -1 - below(2) : once_in(4) ? 0 : below(300);
    if (parameter->way == IN)
        return length;
    int *variable = piece(sizeof *variable);
    *variable = (int)length;
    return wild && once_in(2) ? 0 : (long)variable;
}

static long buffer(const struct procedure *procedure, int wild)
{
    if (wild)
        return once_in(2) ? (long)MPI_IN_PLACE : 0;
    return (long)(data() + (procedure->is_data && once_in(4) ? below(64) : 16 * below(64)));
}

static long one(struct call *call, int at)
{
    const struct parameter *parameter = &call->procedure->parameter[at];
    int wild = call->wild[at];
    switch (parameter->kind) {
    case BUFFER:
        return buffer(call->procedure, wild);
    case STATUS:
        return status(parameter, wild);
    case TEXT_OUT:
        return text_place(call, parameter, wild);
    case TEXT_LENGTH:
        return text_length(parameter, wild);
    case TEXTS:
        return texts(wild);
    case WEIGHTS:
        if (once_in(3))
            return (long)(once_in(2) ? MPI_UNWEIGHTED : MPI_WEIGHTS_EMPTY);
        return array(call, at);
    case ADDRESS: case PLACE:
        return wild ? 0 : (long)piece(256);
    default:
        break;
    }
    if (parameter->array)
        return array(call, at);
    if (parameter->way == IN)
        return value(call->procedure, parameter, wild);
    void *variable = piece((size_t)parameter->size);
    store(variable, first_value(call->procedure, parameter, wild), parameter->size);
    return wild && once_in(4) ? 0 : (long)variable;
}

void choose(struct call *call)
{
    const struct procedure *procedure = call->procedure;
    int mood = below(10), odd = below(procedure->parameters + 1);
    for (int i = 0; i < procedure->parameters; i++)
        call->wild[i] = mood < 6 ? 0 : mood < 9 ? i == odd : once_in(3);
    /* Lengths first: what they measure comes after. */
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < procedure->parameters; i++)
            if ((pass == 0) == procedure->parameter[i].is_length)
                call->argument[i] = one(call, i);
}

/* The handles of every kind: those that live, some that were freed, the predefined ones, and what is no handle. */
#include "fuzz.h"

enum { LIVE = 24, GONE = 16, PREDEFINED = 20 };

/* Whether the bits of a handle may be any: of an integer, and of the standard ABI's pointers, which lead nowhere. */
#if defined(OMPI_MAJOR_VERSION)
enum { ANY_BITS = 0 };
#else
enum { ANY_BITS = 1 };
#endif

struct pool {
    long live[LIVE], gone[GONE], predefined[PREDEFINED], null;
    int lives, goes, known;
};

static struct pool pools[HANDLES];
/* Of the live datatypes those whose elements are small and near, in the same places. */
static char tame[LIVE];
/* Attribute keys of communicators, datatypes and windows, and handles of the tool interface. */
static struct pool keyvals[3], tools;
/* What lies where no object does. */
static long nothing[8] = { 1, -1, 0x7fffffff, 42 };

static int bytes_of(enum kind kind)
{
    (void)kind;
    return (int)sizeof(MPI_Comm);
}

static void know(enum kind kind, const void *handle)
{
    struct pool *pool = &pools[kind];
    pool->predefined[pool->known++] = load(handle, bytes_of(kind));
}

#define KNOW(kind, type, ...)                                                                                          \
    do {                                                                                                               \
        type all[] = { __VA_ARGS__ };                                                                                  \
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)                                                          \
            know(kind, &all[i]);                                                                                       \
    } while (0)
#define NULL_IS(kind, type, value)                                                                                     \
    do {                                                                                                               \
        type null = value;                                                                                             \
        pools[kind].null = load(&null, bytes_of(kind));                                                                \
    } while (0)

/* Error handlers that end the program are nothing for it. */
void begin_pools(void)
{
    KNOW(COMM, MPI_Comm, MPI_COMM_SELF, MPI_COMM_WORLD);
    KNOW(GROUP, MPI_Group, MPI_GROUP_EMPTY);
    KNOW(DATATYPE, MPI_Datatype, MPI_BYTE, MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_LONG, MPI_FLOAT, MPI_SHORT,
         MPI_UNSIGNED_CHAR, MPI_PACKED, MPI_DOUBLE_INT, MPI_2INT, MPI_SHORT_INT, MPI_C_DOUBLE_COMPLEX, MPI_C_BOOL,
         MPI_AINT, MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT64_T);
    KNOW(OP, MPI_Op, MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_BAND, MPI_LXOR, MPI_BXOR, MPI_MAXLOC,
         MPI_MINLOC, MPI_REPLACE, MPI_NO_OP);
    KNOW(ERRHANDLER, MPI_Errhandler, MPI_ERRORS_RETURN);
    KNOW(INFO, MPI_Info, MPI_INFO_NULL, MPI_INFO_ENV);
    KNOW(MESSAGE, MPI_Message, MPI_MESSAGE_NO_PROC);
    NULL_IS(COMM, MPI_Comm, MPI_COMM_NULL);
    NULL_IS(GROUP, MPI_Group, MPI_GROUP_NULL);
    NULL_IS(DATATYPE, MPI_Datatype, MPI_DATATYPE_NULL);
    NULL_IS(OP, MPI_Op, MPI_OP_NULL);
    NULL_IS(REQUEST, MPI_Request, MPI_REQUEST_NULL);
    NULL_IS(ERRHANDLER, MPI_Errhandler, MPI_ERRHANDLER_NULL);
    NULL_IS(INFO, MPI_Info, MPI_INFO_NULL);
    NULL_IS(WIN, MPI_Win, MPI_WIN_NULL);
    NULL_IS(FILE_HANDLE, MPI_File, MPI_FILE_NULL);
    NULL_IS(SESSION, MPI_Session, MPI_SESSION_NULL);
    NULL_IS(MESSAGE, MPI_Message, MPI_MESSAGE_NULL);
}

long null_handle(enum kind kind)
{
    return pools[kind].null;
}

/* Of a pool something that lives or is predefined. */
static long valid(struct pool *pool)
{
    if (pool->lives && (pool->known == 0 || below(3)))
        return pool->live[below(pool->lives)];
    return pool->known ? pool->predefined[below(pool->known)] : pool->null;
}

/* Bits that are no handle. Where handles are addresses they are those of readable memory or small numbers: what a
   pointer leads to is the program's promise. */
static long rubbish(void)
{
    long number = (long)draw();
    if (once_in(4))
        return below(4096);
    if (!ANY_BITS)
        return (long)((char *)nothing + below(32));
    return sizeof(MPI_Comm) == sizeof(int) ? (int)number >> below(30) : number >> below(60);
}

static int ends_the_program(long handle)
{
    MPI_Errhandler fatal = MPI_ERRORS_ARE_FATAL, end = MPI_ERRORS_ABORT;
    return handle == load(&fatal, sizeof fatal) || handle == load(&end, sizeof end);
}

static long odd(enum kind kind)
{
    struct pool *pool = &pools[kind];
    switch (below(5)) {
    case 0:
        return pool->null;
    case 1:
        return pool->goes ? pool->gone[below(pool->goes)] : pool->null;
    case 2:
        return valid(&pools[below(HANDLES)]);
    case 3:
        return pools[below(HANDLES)].null;
    default:
        return rubbish();
    }
}

long pick_handle(enum kind kind, int wild)
{
    long handle = wild ? odd(kind) : valid(&pools[kind]);
    return kind == ERRHANDLER && ends_the_program(handle) ? pools[kind].null : handle;
}

long pick_tame_datatype(int wild)
{
    struct pool *pool = &pools[DATATYPE];
    long handle = wild ? odd(DATATYPE) : valid(pool);
    for (int i = 0; i < pool->lives; i++)
        if (pool->live[i] == handle && !tame[i])
            return pool->predefined[below(pool->known)];
    return handle;
}

static struct pool *keys(const char *word)
{
    return &keyvals[strstr(word, "type") ? 1 : strstr(word, "win") ? 2 : 0];
}

long pick_keyval(const char *word, int wild)
{
    static const int PREDEFINED_KEYS[] = { MPI_TAG_UB, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_WIN_BASE,
                                           MPI_WIN_SIZE, MPI_WIN_MODEL, MPI_KEYVAL_INVALID, MPI_APPNUM };
    struct pool *pool = wild ? &keyvals[below(3)] : keys(word);
    if (wild && once_in(3))
        return (int)draw();
    if (wild && pool->goes && once_in(2))
        return pool->gone[below(pool->goes)];
    if (pool->lives && once_in(2))
        return pool->live[below(pool->lives)];
    return PREDEFINED_KEYS[below(8)];
}

long pick_tool(void)
{
    if (tools.lives && once_in(2))
        return tools.live[below(tools.lives)];
    return once_in(2) ? 0 : (long)&nothing[below(4)];
}

static void lose(struct pool *pool, long handle)
{
    for (int i = 0; i < pool->lives; i++) {
        if (pool->live[i] != handle)
            continue;
        pool->live[i] = pool->live[--pool->lives];
        if (pool == &pools[DATATYPE])
            tame[i] = tame[pool->lives];
        pool->gone[pool->goes < GONE ? pool->goes++ : below(GONE)] = handle;
        return;
    }
}

void lose_handle(enum kind kind, long handle)
{
    lose(&pools[kind], handle);
}

void lose_keyval(long keyval)
{
    for (int i = 0; i < 3; i++)
        lose(&keyvals[i], keyval);
}

/* A handle of any kind as the variable that procedures take. */
union variable {
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Request request;
    MPI_Errhandler errhandler;
    MPI_Info info;
    MPI_Win win;
    MPI_File file;
    MPI_Session session;
    MPI_Message message;
};

void receive_sent(MPI_Comm comm, int tag)
{
    MPI_Message message;
    for (int flag = 1, left = 1000; flag && left; left--) {
        flag = 0;
        if (MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &flag, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag)
            MPI_Mrecv(data(), 1 << 20, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    }
}

static void end_request(MPI_Request *request)
{
    int flag;
    MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    if (*request == MPI_REQUEST_NULL)
        return;
    MPI_Cancel(request);
    MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    if (*request != MPI_REQUEST_NULL)
        MPI_Request_free(request);
}

/* Frees a handle directly. What does not let itself be freed is forgotten. */
static void end_handle(enum kind kind, long handle)
{
    union variable v;
    store(&v, handle, bytes_of(kind));
    switch (kind) {
    case COMM: receive_sent(v.comm, MPI_ANY_TAG); MPI_Comm_free(&v.comm); break;
    case GROUP: MPI_Group_free(&v.group); break;
    case DATATYPE: MPI_Type_free(&v.datatype); break;
    case OP: MPI_Op_free(&v.op); break;
    case REQUEST: end_request(&v.request); break;
    case ERRHANDLER: MPI_Errhandler_free(&v.errhandler); break;
    case INFO: MPI_Info_free(&v.info); break;
    case WIN: MPI_Win_free(&v.win); break;
    case FILE_HANDLE: MPI_File_close(&v.file); break;
    case SESSION: MPI_Session_finalize(&v.session); break;
    case MESSAGE: MPI_Mrecv(data(), 1 << 20, MPI_BYTE, &v.message, MPI_STATUS_IGNORE); break;
    default: break;
    }
}

/* Messages that probes took out of the queues, and that nobody has received. */
static void receive_matched(void)
{
    struct pool *pool = &pools[MESSAGE];
    while (pool->lives) {
        long handle = pool->live[0];
        end_handle(MESSAGE, handle);
        lose(pool, handle);
    }
}

/* Receives all that was sent, so that nothing waits for it to be received. */
void drain(void)
{
    receive_matched();
    receive_sent(MPI_COMM_SELF, MPI_ANY_TAG);
    receive_sent(MPI_COMM_WORLD, MPI_ANY_TAG);
    for (int i = 0; i < pools[COMM].lives; i++) {
        union variable v;
        store(&v, pools[COMM].live[i], bytes_of(COMM));
        receive_sent(v.comm, MPI_ANY_TAG);
    }
}

/* Whether elements of a datatype lie within a few bytes around their address. */
static int is_tame(MPI_Datatype datatype)
{
    MPI_Count lb, extent, true_lb, true_extent, size, most = 512;
    if (MPI_Type_get_extent_x(datatype, &lb, &extent) || MPI_Type_size_x(datatype, &size) ||
        MPI_Type_get_true_extent_x(datatype, &true_lb, &true_extent))
        return 0;
    return lb >= -most && lb <= most && extent >= -most && extent <= most && true_lb >= -most && true_lb <= most &&
           true_extent <= most && size <= most && size >= 0;
}

void take_handle(enum kind kind, long handle)
{
    struct pool *pool = &pools[kind];
    union variable v;
    if (handle == pool->null || (kind == ERRHANDLER && ends_the_program(handle)))
        return;
    for (int i = 0; i < pool->known; i++)
        if (pool->predefined[i] == handle)
            return;
    if (pool->lives == LIVE) {
        long old = pool->live[below(LIVE)];
        end_handle(kind, old);
        lose(pool, old);
    }
    store(&v, handle, bytes_of(kind));
    pool->live[pool->lives] = handle;
    if (kind == DATATYPE) {
        tame[pool->lives] = (char)is_tame(v.datatype);
        if (below(3))
            MPI_Type_commit(&v.datatype);
    } else if (kind == WIN) {
        MPI_Win_set_errhandler(v.win, MPI_ERRORS_RETURN);
    }
    pool->lives++;
}

void take_keyval(const char *word, long keyval)
{
    struct pool *pool = keys(word);
    if (pool->lives < LIVE)
        pool->live[pool->lives++] = keyval;
}

void take_tool(long handle)
{
    if (tools.lives < LIVE)
        tools.live[tools.lives++] = handle;
}

/* The end of a round: everything is freed, requests first, since they hold the others. */
void empty_pools(void)
{
    static const enum kind ORDER[] = { MESSAGE, REQUEST, FILE_HANDLE, WIN, COMM, GROUP, DATATYPE, OP, ERRHANDLER, INFO,
                                       SESSION };
    drain();
    for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER; i++) {
        struct pool *pool = &pools[ORDER[i]];
        for (int at = 0; at < pool->lives; at++)
            end_handle(ORDER[i], pool->live[at]);
        pool->lives = pool->goes = 0;
    }
    for (int i = 0; i < 3; i++) {
        for (int at = 0; at < keyvals[i].lives; at++) {
            int key = (int)keyvals[i].live[at];
            (i == 0 ? MPI_Comm_free_keyval : i == 1 ? MPI_Type_free_keyval : MPI_Win_free_keyval)(&key);
        }
        keyvals[i].lives = keyvals[i].goes = 0;
    }
    tools.lives = 0;
}

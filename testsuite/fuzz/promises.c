/* What the program has to promise, or else nobody could keep a call from harm: memory for all that it names, and a
   partner for what waits. All other arguments stay as they were drawn. */
#include "fuzz.h"

enum { FEW = 16, NAMED = 64 };

/* Handles as they were before the call. */
static long before[PARAMETERS][NAMED];
/* What MPI_Alloc_mem gave and nobody has freed. */
static void *allocated[8];
static int allocations;
/* Receives and sends that let a call end. */
static MPI_Request partners[2];
static char partner_data[1 << 20];

static int called(const struct call *call, const char *name)
{
    return !strcmp(call->procedure->name + strlen("MPI_"), name);
}

static int has_in_name(const struct call *call, const char *part)
{
    return strstr(call->procedure->name, part) != NULL;
}

long index_of(const struct call *call, const char *parameter)
{
    for (int i = 0; i < call->procedure->parameters; i++)
        if (!strcmp(call->procedure->parameter[i].name, parameter))
            return i;
    return -1;
}

static long *argument(struct call *call, const char *parameter)
{
    static long none;
    long at = index_of(call, parameter);
    none = 0;
    return at < 0 ? &none : &call->argument[at];
}

static int is_predefined(long datatype)
{
    MPI_Datatype some[] = { MPI_BYTE, MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_LONG, MPI_FLOAT, MPI_SHORT };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (load(&some[i], sizeof *some) == datatype)
            return 1;
    return 0;
}

/* Whether more elements than a few may be named: no memory is touched but what the messages or the room bring. */
static int may_be_many(struct call *call, const struct parameter *parameter, long count)
{
    if (has_in_name(call, "ack") || !strcmp(parameter->name, "target_count"))
        return 1;
    if (index_of(call, "datatype") < 0 || !is_predefined(*argument(call, "datatype")))
        return 0;
    if (has_in_name(call, "recv") || has_in_name(call, "Recv"))
        return index_of(call, "sendtag") < 0 && !has_in_name(call, "Precv");
    int is_buffered = has_in_name(call, "bsend") || has_in_name(call, "Bsend");
    return count < 20100 && index_of(call, "dest") >= 0 && index_of(call, "recvcount") < 0 && !is_buffered;
}

static void bound_array(struct call *call, int at, long least, long most)
{
    const struct parameter *parameter = &call->procedure->parameter[at];
    char *first = (char *)call->argument[at];
    for (int i = 0; first && i < NAMED; i++) {
        long entry = load(first + i * parameter->size, parameter->size);
        if (parameter->length >= 0 && call->argument[parameter->length] <= i)
            return;
        if (entry < least || entry > most)
            store(first + i * parameter->size, entry < 0 ? least : most, parameter->size);
    }
}

/* With a datatype of the program, or with displacements, MPI_BOTTOM stands for the addresses that these are, and there
   is no memory at those. */
static void ground(struct call *call)
{
    int grounded = index_of(call, "displs") < 0 && index_of(call, "sdispls") < 0;
    for (int i = 0; i < call->procedure->parameters; i++)
        if (call->procedure->parameter[i].kind == DATATYPE)
            grounded &= !call->procedure->parameter[i].array && is_predefined(call->argument[i]);
    for (int i = 0; i < call->procedure->parameters && !grounded; i++)
        if (call->procedure->parameter[i].kind == BUFFER && !call->argument[i])
            call->argument[i] = (long)data();
}

/* Counts and places of data stay within the memory that is there. */
static void bound_data(struct call *call)
{
    for (int i = 0; i < call->procedure->parameters; i++) {
        const struct parameter *parameter = &call->procedure->parameter[i];
        long *value = &call->argument[i];
        if (parameter->kind != COUNT && strcmp(parameter->name, "partitions"))
            continue;
        if (parameter->array)
            bound_array(call, i, -20, 2 * FEW);
        else if (parameter->way == IN && !strcmp(parameter->word, "count") && *value > FEW &&
                 !may_be_many(call, parameter, *value))
            *value %= FEW + 1;
        else if ((!strcmp(parameter->word, "count64") || parameter->kind == INT) && *value > FEW)
            *value %= FEW + 1;
    }
}

/* Arrays that say how long others are, what would fill the disk, and memory that must have come from the library. */
static void bound_others(struct call *call)
{
    long index = index_of(call, "index"), degrees = index_of(call, "degrees");
    if (index >= 0 && call->procedure->parameter[index].array && call->procedure->parameter[index].way == IN)
        bound_array(call, (int)index, -2, 4);
    if (degrees >= 0)
        bound_array(call, (int)degrees, -2, 4);
    if (called(call, "Info_create_env") && *argument(call, "argc") > 8)
        *argument(call, "argc") = 8;
    if (called(call, "File_preallocate") && *argument(call, "size") > 1 << 16)
        *argument(call, "size") &= 0xffff;
    if (called(call, "Free_mem"))
        *argument(call, "base") = allocations ? (long)allocated[--allocations] : 0;
}

/* The arguments of a call as its C types. */
struct envelope {
    MPI_Comm comm;
    int rank, tag;
};

static struct envelope envelope(struct call *call, const char *rank, const char *tag)
{
    struct envelope e;
    store(&e.comm, *argument(call, "comm"), sizeof e.comm);
    e.rank = (int)*argument(call, rank);
    e.tag = (int)*argument(call, index_of(call, tag) < 0 ? "tag" : tag);
    return e;
}

/* A receive for what the call is to send. What was sent before is received first: it would take this receive, and a
   test once cannot tell whether it did, since a large message or one with gaps takes several. */
static void receive_it(struct call *call)
{
    struct envelope e = envelope(call, "dest", "sendtag");
    for (int done = 1, left = 1000; done && left; left--) {
        done = 0;
        receive_sent(e.comm, e.tag);
        MPI_Irecv(partner_data, sizeof partner_data, MPI_BYTE, MPI_ANY_SOURCE, e.tag, e.comm, &partners[0]);
        if (partners[0] != MPI_REQUEST_NULL)
            MPI_Test(&partners[0], &done, MPI_STATUS_IGNORE);
    }
}

/* Sends until there is what the call is to receive, whatever other receives take of it. */
static int send_it(struct call *call)
{
    struct envelope e = envelope(call, "source", "recvtag");
    for (int left = 1000; left; left--) {
        int flag = 0;
        if (MPI_Iprobe(e.rank, e.tag, e.comm, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag)
            return 1;
        if (MPI_Isend(partner_data, 4, MPI_BYTE, 0, e.tag < 0 ? 0 : e.tag, e.comm, &partners[1]) != MPI_SUCCESS)
            return 1;
        MPI_Request_free(&partners[1]);
    }
    return 0;
}

static int is_pending(MPI_Request request)
{
    int flag = 1;
    return MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag;
}

/* Requests that nothing may ever complete are not waited for. */
static int only_complete(struct call *call)
{
    long single = index_of(call, "request"), several = index_of(call, "array_of_requests");
    MPI_Request none = MPI_REQUEST_NULL;
    long at = single < 0 ? several : single;
    MPI_Request *first = (MPI_Request *)call->argument[at];
    long count = single < 0 ? call->argument[0] : 1;
    for (long i = 0; first && i < count && i < NAMED; i++)
        if (is_pending(first[i]))
            first[i] = none;
    return 1;
}

/* Windows: an exposure for the access that begins, and no wait for one that nobody ends. */
static int window_partner(struct call *call)
{
    MPI_Win win;
    MPI_Group group;
    int flag = 1;
    store(&win, *argument(call, "win"), sizeof win);
    store(&group, *argument(call, "group"), sizeof group);
    if (called(call, "Win_start")) {
        /* Nobody begins an exposure again that goes on. */
        int code = MPI_Win_post(group, 0, win), class = MPI_SUCCESS;
        return MPI_Error_class(code, &class) == MPI_SUCCESS && class != MPI_ERR_RMA_SYNC;
    }
    return MPI_Win_test(win, &flag) != MPI_SUCCESS || flag;
}

static int begins(const struct call *call, const char *word)
{
    return !strncmp(call->procedure->name + strlen("MPI_"), word, strlen(word));
}

/* Gives the call its partner; 0 if it would wait for ever all the same. */
static int partner(struct call *call)
{
    static const char *const SENDS[] = { "Send", "Ssend", "Rsend", "Bsend", "Send_c", "Ssend_c", "Rsend_c", "Bsend_c" };
    static const char *const RECEIVES[] = { "Recv", "Recv_c", "Probe", "Mprobe", "Sendrecv", "Sendrecv_c",
                                            "Sendrecv_replace", "Sendrecv_replace_c" };
    for (size_t i = 0; i < sizeof SENDS / sizeof *SENDS; i++)
        if (called(call, SENDS[i]))
            receive_it(call);
    for (size_t i = 0; i < sizeof RECEIVES / sizeof *RECEIVES; i++)
        if (called(call, RECEIVES[i]) && !send_it(call))
            return 0;
    if (begins(call, "Wait"))
        return only_complete(call);
    if (called(call, "Win_start") || called(call, "Win_wait"))
        return window_partner(call);
    if (has_in_name(call, "detach_buffer") || has_in_name(call, "flush") || has_in_name(call, "Buffer_detach") ||
        called(call, "Comm_disconnect") || called(call, "Session_finalize"))
        drain();
    return 1;
}

/* Whether handles or the like come back in an argument. */
static int is_watched(const struct parameter *parameter)
{
    int may = parameter->kind <= TOOL || parameter->kind == CONSTANT || parameter->kind == ADDRESS;
    return may && parameter->way != IN;
}

static void remember(struct call *call)
{
    for (int i = 0; i < call->procedure->parameters; i++) {
        const struct parameter *parameter = &call->procedure->parameter[i];
        char *first = (char *)call->argument[i];
        long values = !parameter->array ? 1 : parameter->length < 0 ? 0 : call->argument[parameter->length];
        for (int at = 0; at < NAMED; at++)
            before[i][at] = is_watched(parameter) && parameter->way == INOUT && first && at < values
                                ? load(first + at * parameter->size, parameter->size)
                                : 0;
    }
}

int settle(struct call *call)
{
    partners[0] = partners[1] = MPI_REQUEST_NULL;
    if (call->procedure->is_data)
        ground(call), bound_data(call);
    bound_others(call);
    if (!partner(call))
        return 0;
    remember(call);
    return 1;
}

/* Ends the receive of a partner, whether something came or not. */
void after(struct call *call)
{
    (void)call;
    if (partners[0] == MPI_REQUEST_NULL)
        return;
    MPI_Cancel(&partners[0]);
    MPI_Wait(&partners[0], MPI_STATUS_IGNORE);
}

static void gone(const struct parameter *parameter, long was, long is)
{
    if (parameter->kind < HANDLES && is == null_handle(parameter->kind) && was != is)
        lose_handle(parameter->kind, was);
    if (parameter->kind == CONSTANT && is == MPI_KEYVAL_INVALID && was != is)
        lose_keyval(was);
}

static void come(const struct parameter *parameter, long handle)
{
    if (parameter->kind < HANDLES)
        take_handle(parameter->kind, handle);
    else if (parameter->kind == TOOL)
        take_tool(handle);
    else if (parameter->kind == CONSTANT && !strcmp(parameter->word, "keyval"))
        take_keyval(parameter->name, handle);
    else if (parameter->kind == ADDRESS && !strcmp(here.call.procedure->name, "MPI_Alloc_mem") && allocations < 8)
        allocated[allocations++] = (void *)handle;
}

/* Handles that came, and that went. */
void harvest(struct call *call)
{
    for (int i = 0; i < call->procedure->parameters; i++) {
        const struct parameter *parameter = &call->procedure->parameter[i];
        char *first = (char *)call->argument[i];
        long values = !parameter->array ? 1 : parameter->length < 0 ? 0 : call->argument[parameter->length];
        int size = parameter->kind == ADDRESS ? 8 : parameter->size;
        if (!is_watched(parameter) || !first ||
            (parameter->length >= 0 && call->procedure->parameter[parameter->length].way != IN))
            continue;
        for (int at = 0; at < values && at < NAMED; at++) {
            long now = load(first + at * size, size);
            if (parameter->way == INOUT)
                gone(parameter, before[i][at], now);
            else if (call->result == MPI_SUCCESS && call->procedure->returns_error)
                come(parameter, now);
        }
    }
}

/* A round of messages. All ranks draw the same list of messages; each then sends those that are its
   own and receives those that are for it, in one of two orders that cannot wait for each other in
   a circle: all receives first and then sends of any kind, or all sends first, none of them
   blocking, and then the receives. */
#include "soak.h"

#include <limits.h>

enum { MOST = 48, BLOCK = 3, STRIDE = 5, WILD_MAX = 4096 };

/* More messages than a path between two ranks has room for, both ways at once. */
enum { WINDOW = 80, LIST_MAX = 2 * WINDOW };

/* How a message is sent. */
enum manner { STANDARD, IMMEDIATE, SYNCHRONOUS, IMMEDIATE_SYNCHRONOUS, PERSISTENT, MANNERS };

/* How its receiver waits for everything. */
enum patience { ALL, SOME, ANY, TEST_ALL, TEST_ANY, PATIENCES };

struct message {
    int from, to, tag, count;
    enum manner manner;
    int sent_in_blocks, received_in_blocks, probed;
    uint64_t content;
    int *sent, *received;
};

/* What this rank has under way. */
struct under_way {
    MPI_Request requests[2 * LIST_MAX];
    struct message *of[2 * LIST_MAX];
    int receives[2 * LIST_MAX];
    int n;
};

/* Exchanges so far: a rank that is ahead must not be taken for one of this exchange. */
static int exchanges;

static MPI_Datatype blocks_of(int count)
{
    MPI_Datatype blocks;
    MPI_Type_vector(count / BLOCK, BLOCK, STRIDE, MPI_INT, &blocks);
    MPI_Type_commit(&blocks);
    return blocks;
}

/* Where int `i` of a message lies in a buffer. */
static size_t at(int i, int in_blocks)
{
    return in_blocks ? (size_t)(i / BLOCK) * STRIDE + (size_t)(i % BLOCK) : (size_t)i;
}

static int *buffer(int count, int in_blocks)
{
    return scratch(in_blocks ? at(count, 1) : (size_t)count);
}

static void check(const struct message *m, const int *buffer, int in_blocks, const char *what)
{
    for (int i = 0; i < m->count; i++)
        if (buffer[at(i, in_blocks)] != word(m->content, i))
            COMPLAIN("%s buffer of the message of %d ints from %d to %d with tag %d: int %d is %#x, "
                     "not %#x",
                     what, m->count, m->from, m->to, m->tag, i, buffer[at(i, in_blocks)],
                     word(m->content, i));
    for (int i = 0; in_blocks && i < m->count / BLOCK - 1; i++)
        for (int k = BLOCK; k < STRIDE; k++)
            if (buffer[i * STRIDE + k] != (int)0xa5a5a5a5)
                COMPLAIN("%s buffer of the message of %d ints from %d to %d with tag %d: the gap "
                         "behind block %d was written",
                         what, m->count, m->from, m->to, m->tag, i);
}

static void check_status(const struct message *m, const MPI_Status *status)
{
    int count = -1;
    MPI_Get_count(status, MPI_INT, &count);
    if (count != m->count || status->MPI_SOURCE != m->from || status->MPI_TAG != m->tag)
        COMPLAIN("expected %d ints from %d with tag %d, and the status tells %d from %d with %d",
                 m->count, m->from, m->tag, count, status->MPI_SOURCE, status->MPI_TAG);
}

static void add(struct under_way *u, MPI_Request request, struct message *m, int receives)
{
    u->requests[u->n] = request;
    u->receives[u->n] = receives;
    u->of[u->n++] = m;
}

static void send(struct message *m, MPI_Comm comm, struct under_way *u, int may_block)
{
    m->sent = buffer(m->count, m->sent_in_blocks);
    for (int i = 0; i < m->count; i++)
        m->sent[at(i, m->sent_in_blocks)] = word(m->content, i);
    MPI_Datatype type = m->sent_in_blocks ? blocks_of(m->count) : MPI_INT;
    int count = m->sent_in_blocks ? 1 : m->count;
    MPI_Request request = MPI_REQUEST_NULL;
    enum manner manner = m->manner;
    if (!may_block && manner == STANDARD)
        manner = IMMEDIATE;
    if (!may_block && manner == SYNCHRONOUS)
        manner = IMMEDIATE_SYNCHRONOUS;
    switch (manner) {
    case STANDARD:
        MPI_Send(m->sent, count, type, m->to, m->tag, comm);
        break;
    case SYNCHRONOUS:
        MPI_Ssend(m->sent, count, type, m->to, m->tag, comm);
        break;
    case IMMEDIATE_SYNCHRONOUS:
        MPI_Issend(m->sent, count, type, m->to, m->tag, comm, &request);
        break;
    case PERSISTENT:
        MPI_Send_init(m->sent, count, type, m->to, m->tag, comm, &request);
        MPI_Start(&request);
        break;
    default:
        MPI_Isend(m->sent, count, type, m->to, m->tag, comm, &request);
    }
    if (m->sent_in_blocks)
        MPI_Type_free(&type);
    if (request != MPI_REQUEST_NULL)
        add(u, request, m, 0);
    messages++;
    volume += (uint64_t)m->count * sizeof(int);
}

static void receive(struct message *m, MPI_Comm comm, struct under_way *u, int any_source)
{
    m->received = buffer(m->count, m->received_in_blocks);
    MPI_Datatype type = m->received_in_blocks ? blocks_of(m->count) : MPI_INT;
    int count = m->received_in_blocks ? 1 : m->count;
    MPI_Request request;
    MPI_Irecv(m->received, count, type, any_source ? MPI_ANY_SOURCE : m->from, m->tag, comm,
              &request);
    if (m->received_in_blocks)
        MPI_Type_free(&type);
    add(u, request, m, 1);
}

/* Looks for a message, and takes it if it is there, out of matching or not. */
static int probe_and_receive(struct message *m, MPI_Comm comm, struct draws *own)
{
    MPI_Status status;
    int here_now = 0, matched = once_in(own, 2), source = once_in(own, 3) ? MPI_ANY_SOURCE : m->from;
    MPI_Message taken;
    if (matched)
        MPI_Improbe(source, m->tag, comm, &here_now, &taken, &status);
    else
        MPI_Iprobe(source, m->tag, comm, &here_now, &status);
    if (!here_now)
        return 0;
    check_status(m, &status);
    m->received = buffer(m->count, 0);
    if (matched)
        MPI_Mrecv(m->received, m->count, MPI_INT, &taken, &status);
    else
        MPI_Recv(m->received, m->count, MPI_INT, m->from, m->tag, comm, &status);
    check_status(m, &status);
    check(m, m->received, 0, "probed");
    return 1;
}

/* Goes round the messages that are to be probed for, until all were there: their senders may
   send them in any order, and wait for each. */
static void probe_for_all(struct message *list, int n, int me, MPI_Comm comm, struct draws *own)
{
    for (int left = 1; left;) {
        left = 0;
        for (int k = 0; k < n; k++)
            if (list[k].to == me && list[k].probed && !list[k].received)
                left += !probe_and_receive(&list[k], comm, own);
    }
}

/* A request has completed: its buffer is looked at, at once. */
static void finish(struct under_way *u, int i, const MPI_Status *status)
{
    if (i < 0 || i >= u->n || !u->of[i])
        COMPLAIN("request %d of %d is told to have completed", i, u->n);
    if (u->requests[i] != MPI_REQUEST_NULL) /* a persistent one is still there */
        MPI_Request_free(&u->requests[i]);
    if (u->receives[i]) {
        check_status(u->of[i], status);
        check(u->of[i], u->of[i]->received, u->of[i]->received_in_blocks, "receive");
    }
    u->of[i] = NULL;
}

static void complete(struct under_way *u, enum patience patience)
{
    MPI_Status statuses[2 * LIST_MAX];
    int indices[2 * LIST_MAX], done;
    for (int left = u->n; left > 0; left -= done) {
        done = 0;
        switch (patience) {
        case SOME:
            MPI_Waitsome(u->n, u->requests, &done, indices, statuses);
            break;
        case ANY:
            MPI_Waitany(u->n, u->requests, &indices[0], &statuses[0]);
            done = 1;
            break;
        case TEST_ANY:
            MPI_Testany(u->n, u->requests, &indices[0], &done, &statuses[0]);
            break;
        case TEST_ALL:
            MPI_Testall(u->n, u->requests, &done, statuses);
            done *= u->n;
            break;
        default:
            MPI_Waitall(u->n, u->requests, statuses);
            done = u->n;
        }
        int all = patience == ALL || patience == TEST_ALL;
        for (int i = 0; i < done; i++)
            finish(u, all ? i : indices[i], &statuses[i]);
    }
}

/* Receives everything by wildcards, of source and tag; what came must be what was sent, and what
   one rank sent must come in its order (MPI-5.0, 3.5). */
static void wild(struct message *list, int n, int me, int size, MPI_Comm comm)
{
    struct under_way u = { .n = 0 };
    int *buffers[LIST_MAX], mine = 0, *next = calloc((size_t)size, sizeof *next);
    MPI_Status statuses[2 * LIST_MAX];
    for (int i = 0; i < n; i++)
        if (list[i].to == me) {
            buffers[mine] = scratch(WILD_MAX);
            MPI_Irecv(buffers[mine++], WILD_MAX, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                      &u.requests[u.n++]);
        }
    for (int i = 0; i < n; i++)
        if (list[i].from == me)
            send(&list[i], comm, &u, 1);
    MPI_Waitall(u.n, u.requests, statuses);
    for (int r = 0; r < mine; r++) {
        int source = statuses[r].MPI_SOURCE;
        if (source < 0 || source >= size)
            COMPLAIN("a message from rank %d of %d", source, size);
        int i = next[source];
        while (i < n && (list[i].to != me || list[i].from != source))
            i++;
        if (i == n)
            COMPLAIN("one message too many from %d", source);
        check_status(&list[i], &statuses[r]);
        check(&list[i], buffers[r], 0, "wildcard");
        next[source] = i + 1;
    }
    for (int i = mine; i < u.n; i++)
        if (u.requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&u.requests[i]);
    free(next);
    MPI_Barrier(comm); /* what comes next must not meet a wildcard of this exchange */
}

/* A message between two ranks, of so many ints. */
static struct message draw_message(struct draws *d, int from, int to, int i, int count)
{
    struct message m = {
        .from = from,
        .to = to,
        .tag = exchanges % 10000 * LIST_MAX + i,
        .count = count,
        .manner = (enum manner)below(d, MANNERS),
        .content = draw(d),
    };
    m.sent_in_blocks = once_in(d, 4) && m.count && m.count % BLOCK == 0;
    m.received_in_blocks = once_in(d, 4) && m.count && m.count % BLOCK == 0;
    m.probed = once_in(d, 6);
    return m;
}

/* Messages of one length, up to 64 KiB, between two ranks, both ways in turn. */
static int draw_window(struct draws *d, struct message *list, int size, int most)
{
    int left = below(d, size), right = below(d, size), count = 1 << below(d, 15);
    for (int i = 0; i < LIST_MAX; i++) {
        int from = i % 2 ? left : right, to = i % 2 ? right : left;
        list[i] = draw_message(d, from, to, i, count < most ? count : most);
    }
    return LIST_MAX;
}

static int draw_list(struct draws *d, struct message *list, int size, int most)
{
    if (once_in(d, 12))
        return draw_window(d, list, size, most);
    int n = 1 + below(d, MOST), small = once_in(d, 2);
    int pair = once_in(d, 3), left = below(d, size), right = below(d, size);
    for (int i = 0; i < n; i++) {
        int drawn = draw_count(d), count = small ? drawn % 64 : drawn;
        int from = pair ? left : below(d, size), to = pair ? right : below(d, size);
        list[i] = draw_message(d, from, to, i, count < most ? count : most);
    }
    return n;
}

void exchange(struct draws *d, MPI_Comm comm)
{
    struct message list[LIST_MAX];
    struct under_way u = { .n = 0 };
    int me, size, is_wild = once_in(d, 5);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    int n = draw_list(d, list, size, is_wild ? WILD_MAX : INT_MAX);
    exchanges++;
    /* What a rank decides for itself does not disturb what all must draw alike. */
    struct draws own = { draw(d) + (uint64_t)me };
    if (is_wild) {
        wild(list, n, me, size, comm);
        return;
    }
    int sends_first = once_in(&own, 2), start = below(&own, n);
    for (int phase = 0; phase < 2; phase++)
        for (int k = 0; k < n; k++) {
            struct message *m = &list[(k + start) % n];
            int sending = (phase == 0) == sends_first;
            if (sending && m->from == me)
                send(m, comm, &u, !sends_first);
            else if (!sending && m->to == me && !(m->probed && sends_first))
                receive(m, comm, &u, once_in(&own, 5));
        }
    if (sends_first)
        probe_for_all(list, n, me, comm, &own);
    complete(&u, (enum patience)below(&own, PATIENCES));
    for (int k = 0; k < n; k++)
        if (list[k].from == me)
            check(&list[k], list[k].sent, list[k].sent_in_blocks, "send");
}

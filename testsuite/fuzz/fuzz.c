/* Calls procedures of MPI at random: any of them, with arguments as they belong and as they do not, handles that live,
   that were freed, of another kind and that never were; errors return. What may not happen is that the program ends,
   waits for ever, finds memory changed that it gave to nobody, or gets a code that is none. Everything follows from a
   seed, so that a failure can be played again:

       fuzz [--seconds S] [--seed N] [--from ROUND] [--rounds N] [--loud 1] */
#include "fuzz.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 300, WATCHED = 0xa5, MARGIN = 64, PATIENCE = 10 };
static const size_t ROOM = (size_t)1 << 24, MIDDLE = (size_t)1 << 23;

struct place here;
static uint64_t state;
static char *sea, pieces[1 << 20];
static size_t used;
static struct { char *end; } edges[64];
static int edge_count, loud, over;

uint64_t draw(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

int below(int n)
{
    return (int)(draw() % (uint64_t)n);
}

int once_in(int n)
{
    return below(n) == 0;
}

char *data(void)
{
    return sea + MIDDLE;
}

long load(const void *from, int bytes)
{
    if (bytes == (int)sizeof(int))
        return *(const int *)from;
    return *(const long *)from;
}

void store(void *to, long value, int bytes)
{
    if (bytes == (int)sizeof(int))
        *(int *)to = (int)value;
    else if (bytes == (int)sizeof(long))
        *(long *)to = value;
}

void *piece(size_t bytes)
{
    char *first = pieces + used, *end = first + bytes;
    used += (bytes + MARGIN + 15) & ~(size_t)15;
    if (used > sizeof pieces || edge_count == sizeof edges / sizeof *edges)
        complain("no room for the arguments");
    memset(end, WATCHED, (size_t)(pieces + used - end));
    edges[edge_count++].end = end;
    return first;
}

void release_pieces(void)
{
    for (int i = 0; i < edge_count; i++)
        for (int at = 0; at < MARGIN; at++)
            if (edges[i].end[at] != (char)WATCHED)
                complain("wrote behind the memory of an argument");
    used = 0;
    edge_count = 0;
}

/* The call as one line. */
static int spell(char *line, size_t room)
{
    const struct procedure *procedure = here.call.procedure;
    int length = snprintf(line, room, "seed %llu round %llu step %llu: %s(", (unsigned long long)here.seed,
                          (unsigned long long)here.round, (unsigned long long)here.step,
                          procedure ? procedure->name : "between calls");
    for (int i = 0; procedure && i < procedure->parameters && length < (int)room - 100; i++) {
        const struct parameter *parameter = &procedure->parameter[i];
        long argument = here.call.argument[i];
        length += snprintf(line + length, room - (size_t)length, "%s%s = %#lx", i ? ", " : "", parameter->name,
                           argument);
        int shows = argument && parameter->size <= 8 && (parameter->array || parameter->way != IN);
        if (shows && (char *)argument >= pieces && (char *)argument < pieces + sizeof pieces)
            length += snprintf(line + length, room - (size_t)length, " -> %#lx",
                               load((void *)argument, parameter->size));
    }
    return length + snprintf(line + length, room - (size_t)length, ")\n");
}

static void tell(const char *what)
{
    char line[4000] = "fuzz: ";
    size_t length = strlen(strncat(strncat(line, what, 200), ": ", 3));
    length += (size_t)spell(line + length, sizeof line - length);
    if (write(STDERR_FILENO, line, length) < 0)
        _exit(5);
}

void complain(const char *what)
{
    tell(what);
    over = 1;
    _exit(3);
}

static void on_signal(int number)
{
    tell(number == SIGALRM ? "waits for ever" : strsignal(number));
    over = 1;
    signal(number == SIGALRM ? SIGABRT : number, SIG_DFL);
    raise(number == SIGALRM ? SIGABRT : number);
}

static void at_end(void)
{
    if (!over)
        tell("the program was ended");
}

static void watch(void)
{
    static char stack[1 << 16];
    static const int SIGNALS[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM };
    stack_t apart = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
    sigaltstack(&apart, NULL);
    for (size_t i = 0; i < sizeof SIGNALS / sizeof *SIGNALS; i++)
        sigaction(SIGNALS[i], &action, NULL);
    atexit(at_end);
}

static long perform(void *entry, const long *a)
{
    typedef long procedure(long, long, long, long, long, long, long, long, long, long, long, long, long, long, long,
                           long);
    return ((procedure *)entry)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                                a[14], a[15]);
}

/* An error code is a class's, and has a text. */
static void check_code(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int class = -1, length = -1;
    if (code == MPI_SUCCESS)
        return;
    if (MPI_Error_class(code, &class) != MPI_SUCCESS || class <= MPI_SUCCESS)
        complain("returned what is no error code");
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS || length <= 0 || length >= MPI_MAX_ERROR_STRING)
        complain("returned a code without a text");
    if (loud)
        printf("    %s\n", text);
}

static void *entries[2000];

static void play(int at)
{
    struct call *call = &here.call;
    memset(call, 0, sizeof *call);
    call->procedure = &procedures[at];
    choose(call);
    alarm(PATIENCE);
    if (loud) {
        char line[4000];
        spell(line, sizeof line);
        printf("%s", line);
        fflush(stdout);
    }
    if (settle(call)) {
        call->result = (int)perform(entries[at], call->argument);
        if (call->procedure->returns_error)
            check_code((int)call->result);
        harvest(call);
    }
    after(call);
    release_pieces();
    here.step++;
}

/* What every round begins with, so that there is something of each kind. */
static void prepare(void)
{
    static const char *const FIRST[] = {
        "MPI_Comm_dup", "MPI_Cart_create", "MPI_Dist_graph_create_adjacent", "MPI_Comm_group", "MPI_Type_vector",
        "MPI_Type_create_struct", "MPI_Type_create_resized", "MPI_Op_create", "MPI_Info_create", "MPI_Win_allocate",
        "MPI_Win_create", "MPI_Win_create_dynamic", "MPI_Win_allocate_shared", "MPI_File_open", "MPI_Session_init",
        "MPI_Comm_create_keyval", "MPI_Type_create_keyval", "MPI_Win_create_keyval", "MPI_Comm_create_errhandler",
        "MPI_Win_create_errhandler", "MPI_File_create_errhandler", "MPI_Send_init", "MPI_Recv_init", "MPI_Psend_init",
        "MPI_Precv_init", "MPI_Bcast_init", "MPI_Grequest_start", "MPI_Isend", "MPI_Irecv", "MPI_Isend", "MPI_Improbe"
    };
    for (size_t i = 0; i < sizeof FIRST / sizeof *FIRST; i++)
        for (int at = 0; at < procedure_count; at++)
            if (!strcmp(procedures[at].name, FIRST[i]) && below(4))
                play(at);
}

static int is_about(int at, int theme)
{
    for (int i = 0; i < procedures[at].parameters; i++)
        if ((int)procedures[at].parameter[i].kind == theme)
            return 1;
    return 0;
}

/* A round is about one kind of thing more than about others. */
static void play_round(uint64_t round)
{
    here.round = round;
    here.step = 0;
    state = (here.seed * 0x9e3779b97f4a7c15ull) ^ (round + 1) * 0xd1342543de82ef95ull;
    int theme = below(TOOL + 2);
    prepare();
    for (int step = 0; step < STEPS; step++) {
        int at = below(procedure_count);
        for (int tries = below(3) ? 200 : 0; tries && !is_about(at, theme); tries--)
            at = below(procedure_count);
        play(at);
    }
    memset(&here.call, 0, sizeof here.call);
    alarm(PATIENCE);
    empty_pools();
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void find_entries(void)
{
    for (int i = 0; i < procedure_count; i++) {
        entries[i] = dlsym(RTLD_DEFAULT, procedures[i].name);
        if (!entries[i]) {
            fprintf(stderr, "fuzz: the library lacks %s\n", procedures[i].name);
            exit(4);
        }
    }
}

int main(int argc, char **argv)
{
    double seconds = 60;
    uint64_t from = 0, rounds = UINT64_MAX / 2, round;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seconds"))
            seconds = atof(argv[i + 1]);
        else if (!strcmp(argv[i], "--seed"))
            here.seed = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--from"))
            from = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--rounds"))
            rounds = strtoull(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--loud"))
            loud = atoi(argv[i + 1]);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    sea = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    watch();
    find_entries();
    begin_pools();
    double begin = now();
    for (round = from; round < from + rounds && now() - begin < seconds; round++)
        play_round(round);
    alarm(PATIENCE);
    MPI_Finalize();
    alarm(0);
    over = 1;
    printf("ok: %llu rounds\n", (unsigned long long)(round - from));
    return 0;
}

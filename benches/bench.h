/* What all measuring programs share: the options, the clock, how many repetitions a row takes, and
   the line that a row prints:

       row TEST VARIANT BYTES VALUE UNIT

   BYTES is - where a size means nothing. Lines that do not begin with `row` are for people. Plain
   C11 on Linux, so that every MPI's mpicc takes it; compiled with -D_GNU_SOURCE. */
#ifndef FERRITE_BENCH_H
#define FERRITE_BENCH_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SIZES = 32, BATCHES = 7, PAGE = 4096 };

/* Memory that a cold test walks through: far beyond any last-level cache of today's desktops. */
#define COLD_BYTES ((size_t)256 << 20)

struct options {
    size_t sizes[MAX_SIZES];
    int nsizes;
    double seconds; /* how long one row is measured */
    int cold;       /* buffers are walked through COLD_BYTES, not used again and again */
    int bind;       /* each rank must sit on a processor of its own */
    int window; /* messages that are under way together; 0 leaves it to the program */
    int batches; /* the median of so many batches is told */
    int each;   /* so many exchanges are timed one by one; 0 leaves batches to the program */
    int apart; /* a collective call begins when the last one has ended everywhere */
    const char *only; /* a list of tests, separated by commas; NULL means all */
};

static void complain(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(2);
}

static void parse_sizes(struct options *o, char *text)
{
    o->nsizes = 0;
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        if (o->nsizes == MAX_SIZES)
            complain("too many sizes");
        o->sizes[o->nsizes++] = strtoull(word, NULL, 10);
    }
}

static struct options parse(int argc, char **argv)
{
    struct options o = { .sizes = { 8 }, .nsizes = 1, .seconds = 0.02, .batches = BATCHES };
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--cold"))
            o.cold = 1;
        else if (!strcmp(argv[i], "--bind"))
            o.bind = 1;
        else if (!strcmp(argv[i], "--apart"))
            o.apart = 1;
        else if (!strcmp(argv[i], "--sizes") && i + 1 < argc)
            parse_sizes(&o, argv[++i]);
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            o.seconds = atof(argv[++i]);
        else if (!strcmp(argv[i], "--window") && i + 1 < argc)
            o.window = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--batches") && i + 1 < argc)
            o.batches = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--each") && i + 1 < argc)
            o.each = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--only") && i + 1 < argc)
            o.only = argv[++i];
        else
            complain("options: --sizes A,B --seconds S --only A,B --cold --bind --apart --window N "
                     "--batches N --each N");
    }
    if (o.batches < 1 || o.batches > BATCHES)
        complain("there are 1 to 7 batches");
    return o;
}

/* Whether a test is among those asked for. */
static int wanted(const struct options *o, const char *test)
{
    size_t n = strlen(test);
    for (const char *at = o->only; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, test, n) && (at[n] == ',' || !at[n]))
            return 1;
    }
    return !o->only;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void row(const char *test, const char *variant, long bytes, double value, const char *unit)
{
    if (bytes < 0)
        printf("row %s %s - %.6g %s\n", test, variant, value, unit);
    else
        printf("row %s %s %ld %.6g %s\n", test, variant, bytes, value, unit);
    fflush(stdout);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Pages of our own, all of them touched. */
static char *pages(size_t bytes)
{
    size_t whole = (bytes + PAGE) & ~(size_t)(PAGE - 1);
    char *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        complain("no memory for the buffers");
    memset(at, 1, whole);
    return at;
}

/* A buffer that stays in place, or one that walks through COLD_BYTES: `step` apart, so that no
   line and no page is met again before all others were. */
struct walk {
    char *start;
    size_t step, places, at;
};

static struct walk walk_over(char *memory, size_t room, size_t bytes, int cold)
{
    size_t step = ((bytes + PAGE - 1) & ~(size_t)(PAGE - 1)) + 64;
    size_t places = cold ? (room - bytes) / step : 1;
    return (struct walk){ .start = memory, .step = step, .places = places ? places : 1 };
}

static char *next(struct walk *w)
{
    char *at = w->start + w->at * w->step;
    if (++w->at == w->places)
        w->at = 0;
    return at;
}

/* How many repetitions fill one of the batches of a row, when one takes `each` seconds. */
static int repetitions(double each, double seconds, int least)
{
    double n = seconds / BATCHES / (each > 1e-9 ? each : 1e-9);
    return n < least ? least : n > 1e7 ? 10000000 : (int)n;
}

/* Puts this process onto the processor that is number `index` among those it may use, unless it
   has been given one already. Returns the number of processors it had to choose from. */
static int sit_on(int index)
{
    cpu_set_t may, one;
    if (sched_getaffinity(0, sizeof may, &may))
        complain("sched_getaffinity failed");
    int count = CPU_COUNT(&may);
    if (count == 1)
        return 1;
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &may) && seen++ == index % count) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            if (sched_setaffinity(0, sizeof one, &one))
                complain("sched_setaffinity failed");
        }
    return count;
}

static pid_t fork_or_end(void)
{
    pid_t pid = fork();
    if (pid < 0)
        complain("fork failed");
    return pid;
}

/* Whether this is a new process, whose binding ends with it; the old one has waited for its end. */
static int in_a_child(void)
{
    pid_t child = fork_or_end();
    if (child)
        waitpid(child, NULL, 0);
    return !child;
}

#ifdef MPI_VERSION
/* Starts MPI and sees to the binding: launchers bind the ranks, and this is the proof. */
static void start(int *argc, char ***argv, int bind, int *rank, int *size)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    if (!bind)
        return;
    sit_on(*rank);
    int mine = sched_getcpu(), *all = calloc((size_t)*size, sizeof *all);
    MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; *rank == 0 && i < *size; i++)
        for (int j = 0; j < i; j++)
            if (all[i] == all[j]) {
                fprintf(stderr, "bench: ranks %d and %d share processor %d\n", j, i, all[i]);
                MPI_Abort(MPI_COMM_WORLD, 2);
            }
    free(all);
}
#endif

#endif

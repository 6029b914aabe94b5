/* MPI_Pack and MPI_Unpack beside a loop that a person would write, for four types that codes send:
   a column of a matrix (vector), pairs of numbers at places of a list (indexed), the inside of a
   block of cells (subarray) and an array of particles (struct). A row holds the time of one call, and
   one with `-to-loop` that time over the loop's; both are measured in turns, in the same batch. */
#include <mpi.h>
#include <stddef.h>

#include "bench.h"

enum { SPREAD = 4, PAIR = 2, GHOST = 2, THICK = 16 };

struct particle {
    double place[3];
    int number;
    char kind;
    float charge[2];
};

/* What a shape is: its type, and the loops that do the same. */
struct shape {
    const char *name;
    MPI_Datatype type;
    int count;
    size_t packed, spanned;
    void (*gather)(char *out, const char *in);
    void (*scatter)(const char *in, char *out);
};

static size_t elements; /* numbers of a column, pairs, rows of a block, particles */
static int *places;

static void gather_column(char *out, const char *in)
{
    double *to = (double *)out;
    const double *from = (const double *)in;
    for (size_t i = 0; i < elements; i++)
        to[i] = from[i * SPREAD];
}

static void scatter_column(const char *in, char *out)
{
    const double *from = (const double *)in;
    double *to = (double *)out;
    for (size_t i = 0; i < elements; i++)
        to[i * SPREAD] = from[i];
}

static void gather_pairs(char *out, const char *in)
{
    double *to = (double *)out;
    const double *from = (const double *)in;
    for (size_t i = 0; i < elements; i++)
        for (int k = 0; k < PAIR; k++)
            to[i * PAIR + k] = from[places[i] + k];
}

static void scatter_pairs(const char *in, char *out)
{
    const double *from = (const double *)in;
    double *to = (double *)out;
    for (size_t i = 0; i < elements; i++)
        for (int k = 0; k < PAIR; k++)
            to[places[i] + k] = from[i * PAIR + k];
}

#define CELL(plane, row, column)                                                                   \
    (((plane) * (size_t)(THICK + 2 * GHOST) + (row)) * (THICK + 2 * GHOST) + (column))

static void gather_block(char *out, const char *in)
{
    double *to = (double *)out;
    const double *from = (const double *)in;
    for (size_t i = 0; i < elements; i++)
        for (int j = 0; j < THICK; j++)
            for (int k = 0; k < THICK; k++)
                *to++ = from[CELL(i + GHOST, j + GHOST, k + GHOST)];
}

static void scatter_block(const char *in, char *out)
{
    const double *from = (const double *)in;
    double *to = (double *)out;
    for (size_t i = 0; i < elements; i++)
        for (int j = 0; j < THICK; j++)
            for (int k = 0; k < THICK; k++)
                to[CELL(i + GHOST, j + GHOST, k + GHOST)] = *from++;
}

#define FIELD(way, field)                                                                          \
    do {                                                                                           \
        way(field);                                                                                \
        at += sizeof p->field;                                                                     \
    } while (0)
#define OUT(field) memcpy(at, &p->field, sizeof p->field)
#define IN(field) memcpy(&p->field, at, sizeof p->field)

static void gather_particles(char *out, const char *in)
{
    char *at = out;
    const struct particle *p = (const struct particle *)in;
    for (size_t i = 0; i < elements; i++, p++) {
        FIELD(OUT, place);
        FIELD(OUT, number);
        FIELD(OUT, kind);
        FIELD(OUT, charge);
    }
}

static void scatter_particles(const char *in, char *out)
{
    const char *at = in;
    struct particle *p = (struct particle *)out;
    for (size_t i = 0; i < elements; i++, p++) {
        FIELD(IN, place);
        FIELD(IN, number);
        FIELD(IN, kind);
        FIELD(IN, charge);
    }
}

static struct shape vector(size_t bytes)
{
    struct shape s = { .name = "vector", .count = 1, .gather = gather_column, .scatter = scatter_column };
    elements = bytes / sizeof(double);
    MPI_Type_vector((int)elements, 1, SPREAD, MPI_DOUBLE, &s.type);
    s.packed = elements * sizeof(double);
    s.spanned = s.packed * SPREAD;
    return s;
}

static struct shape indexed(size_t bytes)
{
    struct shape s = { .name = "indexed", .count = 1, .gather = gather_pairs, .scatter = scatter_pairs };
    unsigned state = 1;
    elements = bytes / sizeof(double) / PAIR;
    places = realloc(places, elements * sizeof *places);
    for (size_t i = 0; i < elements; i++) {
        state = state * 1664525u + 1013904223u;
        places[i] = (int)(i * 3 * PAIR + (state >> 24) % (2 * PAIR + 1));
    }
    MPI_Type_create_indexed_block((int)elements, PAIR, places, MPI_DOUBLE, &s.type);
    s.packed = elements * PAIR * sizeof(double);
    s.spanned = s.packed * 3 + 64;
    return s;
}

static struct shape subarray(size_t bytes)
{
    struct shape s = { .name = "subarray", .count = 1, .gather = gather_block, .scatter = scatter_block };
    elements = bytes / sizeof(double) / (THICK * THICK);
    int wide = THICK + 2 * GHOST, planes = (int)elements;
    MPI_Type_create_subarray(3, (int[]){ planes + 2 * GHOST, wide, wide },
                             (int[]){ planes, THICK, THICK }, (int[]){ GHOST, GHOST, GHOST },
                             MPI_ORDER_C, MPI_DOUBLE, &s.type);
    s.packed = elements * THICK * THICK * sizeof(double);
    s.spanned = (elements + 2 * GHOST) * (size_t)wide * (size_t)wide * sizeof(double);
    return s;
}

static struct shape structure(size_t bytes)
{
    struct shape s = { .name = "struct", .gather = gather_particles, .scatter = scatter_particles };
    MPI_Datatype fields;
    MPI_Type_create_struct(4, (int[]){ 3, 1, 1, 2 },
                           (MPI_Aint[]){ offsetof(struct particle, place),
                                         offsetof(struct particle, number),
                                         offsetof(struct particle, kind),
                                         offsetof(struct particle, charge) },
                           (MPI_Datatype[]){ MPI_DOUBLE, MPI_INT, MPI_CHAR, MPI_FLOAT }, &fields);
    MPI_Type_create_resized(fields, 0, sizeof(struct particle), &s.type);
    MPI_Type_free(&fields);
    size_t each = 3 * sizeof(double) + sizeof(int) + 1 + 2 * sizeof(float);
    elements = bytes / each;
    s.count = (int)elements;
    s.packed = elements * each;
    s.spanned = elements * sizeof(struct particle);
    return s;
}

/* Seconds of one call of MPI and of the loop, in turns. */
static void turns(struct shape *s, int pack, char *user, char *packed, int n, double *times)
{
    double begin = now();
    for (int i = 0; i < n; i++) {
        int position = 0;
        if (pack)
            MPI_Pack(user, s->count, s->type, packed, (int)s->packed, &position, MPI_COMM_WORLD);
        else
            MPI_Unpack(packed, (int)s->packed, &position, user, s->count, s->type, MPI_COMM_WORLD);
    }
    double middle = now();
    for (int i = 0; i < n; i++)
        if (pack)
            s->gather(packed, user);
        else
            s->scatter(packed, user);
    double end = now();
    times[0] = (middle - begin) / n;
    times[1] = (end - middle) / n;
}

/* MPI and the loop must move the same bytes, or the comparison means nothing. */
static void compare(struct shape *s, char *user, char *packed, char *other)
{
    int position = 0;
    for (size_t i = 0; i < s->spanned; i++)
        user[i] = (char)(i * 31 + (i >> 8));
    MPI_Pack(user, s->count, s->type, packed, (int)s->packed, &position, MPI_COMM_WORLD);
    s->gather(other, user);
    if ((size_t)position != s->packed || memcmp(packed, other, s->packed))
        complain("the loop packs something else than MPI");
}

static void measure(struct shape (*make)(size_t), const struct options *o, size_t bytes)
{
    struct shape s = make(bytes);
    char line[32];
    if (!wanted(o, s.name))
        return;
    MPI_Type_commit(&s.type);
    char *user = pages(s.spanned), *packed = pages(s.packed), *other = pages(s.packed);
    compare(&s, user, packed, other);
    for (int pack = 1; pack >= 0; pack--) {
        double times[2], ours[BATCHES], ratios[BATCHES];
        turns(&s, pack, user, packed, 5, times);
        int n = repetitions(times[0] + times[1], o->seconds, 4);
        for (int b = 0; b < BATCHES; b++) {
            turns(&s, pack, user, packed, n, times);
            ours[b] = times[0] * 1e6;
            ratios[b] = times[0] / times[1];
        }
        snprintf(line, sizeof line, "%s-to-loop", pack ? "pack" : "unpack");
        row(s.name, pack ? "pack" : "unpack", (long)bytes, median(ours, BATCHES), "us");
        row(s.name, line, (long)bytes, median(ratios, BATCHES), "x");
    }
    munmap(user, s.spanned), munmap(packed, s.packed), munmap(other, s.packed);
    MPI_Type_free(&s.type);
}

int main(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    int rank, size;
    start(&argc, &argv, o.bind, &rank, &size);
    for (int i = 0; i < o.nsizes && rank == 0; i++) {
        measure(vector, &o, o.sizes[i]);
        measure(indexed, &o, o.sizes[i]);
        measure(subarray, &o, o.sizes[i]);
        measure(structure, &o, o.sizes[i]);
    }
    MPI_Finalize();
    return 0;
}

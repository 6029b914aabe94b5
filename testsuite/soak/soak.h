/* What the parts of the soak share: numbers drawn from a seed, alike on every rank; contents that
   follow from a number, so that a receiver can check every word; and the way to complain. */
#ifndef FERRITE_SOAK_H
#define FERRITE_SOAK_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The stream of draws of one round (SplitMix64). */
struct draws {
    uint64_t state;
};

static inline uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static inline uint64_t draw(struct draws *d)
{
    return mix(d->state += 0x9e3779b97f4a7c15ull);
}

/* A number from 0 to n - 1. */
static inline int below(struct draws *d, int n)
{
    return (int)(draw(d) % (uint64_t)n);
}

/* True once in n. */
static inline int once_in(struct draws *d, int n)
{
    return below(d, n) == 0;
}

/* Where we are: what a complaint must say so that the round can be played again. */
struct place {
    uint64_t seed, round;
    int rank, size;
};

extern struct place here;

/* Messages and bytes that this rank has sent, and collectives it took part in. */
extern uint64_t messages, volume, operations;

/* Ends the job: what was expected is not what came. */
#define COMPLAIN(...)                                                                              \
    do {                                                                                           \
        fprintf(stderr, "soak: seed %llu round %llu rank %d of %d: ",                              \
                (unsigned long long)here.seed, (unsigned long long)here.round, here.rank,          \
                here.size);                                                                        \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, "\n");                                                                     \
        MPI_Abort(MPI_COMM_WORLD, 3);                                                              \
    } while (0)

/* Word `i` of the content with this number. */
static inline int word(uint64_t number, int i)
{
    return (int)(mix(number + (uint64_t)i * 0x9e3779b97f4a7c15ull) >> 7);
}

/* A number of ints: any magnitude up to 2^20, and often one beside a power of two, where
   protocols change. */
int draw_count(struct draws *d);

/* Memory that lives to the end of the round; a word behind it is watched. */
int *scratch(size_t ints);
void release_scratch(void);

/* A round of messages, and one of collectives. */
void exchange(struct draws *d, MPI_Comm comm);
void collect(struct draws *d, MPI_Comm comm);

#endif

/* What programs share that ask for no more of MPI than what each of them tries, as those for foreign faces do: a check
   that fails says where, and is remembered. */
#ifndef FERRITE_FACES_CHECK_H
#define FERRITE_FACES_CHECK_H

#include <stdio.h>

static int bad;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s\n", __LINE__, #condition);                                         \
            bad = 1;                                                                               \
        }                                                                                          \
    } while (0)

#endif

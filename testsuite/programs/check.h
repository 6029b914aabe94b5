// check.h: what every test program shares.
//
// A program starts with start(), checks, and returns finish(). A check that fails prints one line
// with file, line and rank; the program goes on. At the end rank 0 prints "ok" if no rank had a
// failure, and every process exits with 0 only if it had none itself. The collecting of failures
// uses plain blocking sends, so that a broken collective cannot hide itself.
#ifndef FERRITE_CHECK_H
#define FERRITE_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, failures;

enum { MOST_LINES = 10, REPORT_TAG = 32001 };

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition) && ++failures <= MOST_LINES) {                                            \
            fprintf(stderr, "%s:%d: rank %d of %d: %s: ", __FILE__, __LINE__, rank, size,          \
                    #condition);                                                                   \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
        }                                                                                          \
    } while (0)

// Two integers are equal.
#define EQUAL(got, want)                                                                           \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        CHECK(got_ == want_, "%s is %lld, not %lld", #got, got_, want_);                           \
    } while (0)

// A call succeeds.
#define OK(call) EQUAL(call, MPI_SUCCESS)

// A call fails with an error of this class; its communicator must have MPI_ERRORS_RETURN.
#define FAILS(call, wanted)                                                                        \
    do {                                                                                           \
        int code_ = (call), class_ = MPI_SUCCESS;                                                  \
        MPI_Error_class(code_, &class_);                                                           \
        CHECK(class_ == (wanted), "%s gave class %d", #call, class_);                              \
    } while (0)

// A call fails; the standard does not say with which class.
#define REFUSED(call) CHECK((call) != MPI_SUCCESS, "an error was expected")

static inline void start(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline int finish(void) {
    int total = failures;
    if (rank != 0) {
        MPI_Send(&failures, 1, MPI_INT, 0, REPORT_TAG, MPI_COMM_WORLD);
    } else {
        for (int other = 1; other < size; other++) {
            int more = 0;
            MPI_Recv(&more, 1, MPI_INT, other, REPORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            total += more;
        }
    }
    MPI_Finalize();
    if (rank == 0 && total == 0) puts("ok");
    return failures != 0;
}

// Bytes that depend on their place and on a seed, so that a shifted or mixed-up message shows.
static inline unsigned char byte_at(int seed, size_t place) {
    return (unsigned char)(seed * 131 + place * 7 + (place >> 8) * 13 + (place >> 16) * 101);
}

static inline void fill(void *buffer, size_t length, int seed) {
    for (size_t i = 0; i < length; i++) ((unsigned char *)buffer)[i] = byte_at(seed, i);
}

// The first place where the bytes are not those of fill(), or -1.
static inline long long wrong_at(const void *buffer, size_t length, int seed) {
    for (size_t i = 0; i < length; i++)
        if (((const unsigned char *)buffer)[i] != byte_at(seed, i)) return (long long)i;
    return -1;
}

#endif

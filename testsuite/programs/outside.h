// outside.h: how two processes meet where MPI sees nothing of it, by pipes with names. Before check.h is included
// _POSIX_C_SOURCE has to be 200809L.
#ifndef FERRITE_OUTSIDE_H
#define FERRITE_OUTSIDE_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

// The folder of the pipes, which the one who made it tells the others.
static char outside[256];

static inline const char *pipe_name(int meeting) {
    static char name[sizeof outside + 16];
    snprintf(name, sizeof name, "%s/%d", outside, meeting);
    return name;
}

static inline void make_outside(int meetings) {
    const char *where = getenv("TMPDIR");
    snprintf(outside, sizeof outside, "%s/ferrite-XXXXXX", where != NULL ? where : "/tmp");
    CHECK(mkdtemp(outside) != NULL, "there is no %s", outside);
    for (int meeting = 0; meeting < meetings; meeting++)
        CHECK(mkfifo(pipe_name(meeting), 0600) == 0, "there is no %s", pipe_name(meeting));
}

static inline void remove_outside(int meetings) {
    for (int meeting = 0; meeting < meetings; meeting++) unlink(pipe_name(meeting));
    rmdir(outside);
}

// One tells the other that it is so far.
static inline void meet(int teller, int meeting) {
    char word = '!';
    int end = open(pipe_name(meeting), rank == teller ? O_WRONLY : O_RDONLY);
    CHECK(end >= 0, "%s does not open", pipe_name(meeting));
    EQUAL(rank == teller ? write(end, &word, 1) : read(end, &word, 1), 1);
    close(end);
}

#endif

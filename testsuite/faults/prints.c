// Prints before and after MPI_Init, each time until somebody answers, and dies with a line in C's buffer: prints
// [own], which sets a buffer of its own.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *word)
{
    char answer;
    printf("%s\n", word);
    // Not by C's streams: reading from those may flush.
    if (read(STDIN_FILENO, &answer, 1) < 0)
        exit(1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "own") == 0)
        setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    say("early");
    MPI_Init(&argc, &argv);
    say("inside");
    printf("last\nunfinished");
    abort();
}

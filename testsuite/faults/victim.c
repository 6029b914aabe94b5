/* Ranks that work until one of them is killed by itself, at a moment that a timer chooses.
 *
 * usage: victim RANK MICROSECONDS FILE
 *
 * The timer of rank RANK runs from the start of its process, so the moment falls before, in or
 * after MPI_Init and MPI_Finalize. FILE holds one byte, the phase that the victim has reached. */
#include <mpi.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static volatile char *phase;
static char nowhere;

static void die(int signal)
{
    (void)signal;
    kill(getpid(), SIGKILL);
}

static void arm(long microseconds)
{
    struct itimerval timer;
    memset(&timer, 0, sizeof timer);
    timer.it_value.tv_sec = microseconds / 1000000;
    timer.it_value.tv_usec = microseconds % 1000000;
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
}

int main(int argc, char **argv)
{
    static char buffer[1 << 18];
    const char *own = getenv("PMI_RANK");
    int victim, rank, size, round, sum;

    if (argc != 4 || own == NULL)
        return 3;
    victim = strcmp(own, argv[1]) == 0;
    phase = &nowhere;
    if (victim) {
        int file = open(argv[3], O_RDWR);
        phase = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (phase == MAP_FAILED)
            return 4;
        arm(atol(argv[2]));
        *phase = 'b';
    }
    usleep(2000);
    *phase = 'i';
    MPI_Init(&argc, &argv);
    *phase = 'r';
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (round = 0; round < 40; round++) {
        int bytes = 1 << (round % 18);
        MPI_Sendrecv_replace(buffer, bytes, MPI_CHAR, (rank + 1) % size, round,
                             (rank + size - 1) % size, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    *phase = 'f';
    MPI_Finalize();
    *phase = 'a';
    /* Alive until the timer comes, unless this rank has none. */
    while (victim)
        pause();
    return 0;
}

// Dies in many ways, as its first argument says; with a second one, on that rank alone.
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int *volatile nothing;
static volatile int zero;
static void (*volatile nowhere)(void);

static void own_handler(int number) {
    (void)number;
    (void)!write(STDOUT_FILENO, "own handler\n", 12);
    _exit(9);
}

static struct sigaction before;

// Hands the signal on to the handler that was there before, and stays set.
static void handing_on(int number, siginfo_t *info, void *context) {
    (void)!write(STDOUT_FILENO, "own handler\n", 12);
    before.sa_sigaction(number, info, context);
}

static __attribute__((noinline)) void update_halo(int value) {
    *nothing = value; // the line that a test looks for
}

static __attribute__((noinline)) void time_step(int value) {
    update_halo(value);
    puts("not reached");
}

static __attribute__((noinline)) int descend(int depth) {
    volatile char room[512];
    room[0] = (char)depth;
    return descend(depth + 1) + room[0];
}

// Writes over its own return address, and over those of its callers.
static __attribute__((noinline, optimize("no-stack-protector"))) void smash(int length) {
    volatile char room[16];
    for (int i = 0; i < length; i++)
        room[i] = 'A';
}

static void *in_a_thread(void *unused) {
    time_step(4);
    return unused;
}

static void handle(void (*handler)(int)) {
    signal(SIGSEGV, handler);
}

static void die(const char *how) {
    if (strcmp(how, "segv") == 0 || strcmp(how, "before") == 0 || strcmp(how, "quiet") == 0) {
        time_step(3);
    } else if (strcmp(how, "after") == 0) {
        handle(own_handler);
        time_step(3);
    } else if (strcmp(how, "handed_on") == 0) {
        struct sigaction own = {.sa_sigaction = handing_on, .sa_flags = SA_SIGINFO};
        sigaction(SIGSEGV, &own, &before);
        time_step(3);
    } else if (strcmp(how, "ignored") == 0) {
        raise(SIGSEGV);
    } else if (strcmp(how, "null_call") == 0) {
        nowhere();
    } else if (strcmp(how, "divide") == 0) {
        printf("%d\n", (int)getpid() / zero);
    } else if (strcmp(how, "abort") == 0) {
        fputs("the mesh is torn\n", stderr);
        abort();
    } else if (strcmp(how, "killed") == 0) {
        kill(getpid(), SIGBUS);
    } else if (strcmp(how, "deep") == 0) {
        printf("%d\n", descend(0));
    } else if (strcmp(how, "smash") == 0) {
        smash(1024);
    } else if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, in_a_thread, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(how, "in_mpi") == 0) {
        MPI_Send((void *)16, 1000, MPI_INT, 0, 0, MPI_COMM_SELF);
    } else if (strcmp(how, "fork") == 0) {
        pid_t child = fork();
        if (child == 0)
            time_step(5);
        int status = 0;
        waitpid(child, &status, 0);
        printf("child: signal %d\n", WTERMSIG(status));
    } else if (strcmp(how, "finalized") == 0) {
        MPI_Finalize();
        time_step(6);
    } else {
        fprintf(stderr, "unknown: %s\n", how);
    }
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    if (strcmp(how, "before") == 0)
        handle(own_handler);
    if (strcmp(how, "ignored") == 0)
        handle(SIG_IGN);
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3 || rank == atoi(argv[2]))
        die(how);
    MPI_Finalize();
    return 0;
}

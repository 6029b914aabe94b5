/* The floor under every MPI on this machine, with no MPI in it: two processes that hand a cache
   line to each other, that copy into shared memory and out of it, that read each other's memory
   through the kernel, that yield or wake each other, and the start of a process. The rows named
   `latency` stand for the best that a message of that size could do without overlapping its two
   copies, and can be set beside an MPI's rows of the same name. */
#include <linux/futex.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "bench.h"

static const struct options *options;

static void *shared(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        complain("no shared memory");
    memset(at, 0, bytes);
    return at;
}

#define BARRIER() __asm__ volatile("" ::: "memory")

static void await_value(volatile uint64_t *word, uint64_t value)
{
    while (*word != value)
        ;
    BARRIER();
}

/* Two lanes of one slot each: a flag on a line of its own, and room for a body behind it. */
struct lane {
    volatile uint64_t flag;
    char rest[PAGE - 8];
    char body[];
};

static struct lane *lanes[2];
static struct walk out, in;

/* A message of `bytes`: one copy in, one copy out; up to 8 bytes ride in the flag's line. */
static void trips(int side, int n, size_t bytes, uint64_t *count)
{
    struct lane *mine = lanes[side], *theirs = lanes[!side];
    for (int i = 0; i < n; i++) {
        char *send = next(&out), *receive = next(&in);
        ++*count;
        for (int turn = 0; turn < 2; turn++)
            if (turn == side) {
                if (bytes > 8)
                    memcpy(mine->body, send, bytes);
                BARRIER();
                mine->flag = *count;
            } else {
                await_value(&theirs->flag, *count);
                if (bytes > 8)
                    memcpy(receive, theirs->body, bytes);
            }
    }
}

static int latency(size_t bytes)
{
    double batch[BATCHES];
    size_t room = options->cold ? COLD_BYTES / 2 : bytes + PAGE;
    uint64_t count = 0;
    volatile int *ahead = shared(PAGE);
    for (int i = 0; i < 2; i++)
        lanes[i] = shared(sizeof **lanes + bytes);
    pid_t child = fork_or_end();
    int side = child == 0;
    sit_on(side);
    char *memory = pages(2 * room);
    out = walk_over(memory, room, bytes, options->cold);
    in = walk_over(memory + room, room, bytes, options->cold);
    int probe = bytes < 65536 ? 200 : 20;
    trips(side, probe, bytes, &count);
    double begin = now();
    trips(side, probe, bytes, &count);
    if (side == 0)
        *ahead = repetitions((now() - begin) / probe, options->seconds, 4);
    else
        while (!*ahead)
            ;
    for (int b = 0; b < BATCHES; b++) {
        begin = now();
        trips(side, *ahead, bytes, &count);
        batch[b] = (now() - begin) / *ahead / 2 * 1e6;
    }
    if (side)
        _exit(0);
    waitpid(child, NULL, 0);
    row("latency", options->cold ? "cold" : "warm", (long)bytes, median(batch, BATCHES), "us");
    return 0;
}

/* Bytes a microsecond when `copy` moves `bytes` again and again. */
static void rate_of(const char *what, size_t bytes, void (*copy)(void *, void *, size_t),
                    char *to, char *from)
{
    double batch[BATCHES], begin = now();
    copy(to, from, bytes);
    copy(to, from, bytes);
    int n = repetitions((now() - begin) / 2, options->seconds, 1);
    for (int b = 0; b < BATCHES; b++) {
        begin = now();
        for (int i = 0; i < n; i++)
            copy(to, from, bytes);
        batch[b] = (double)n * (double)bytes / (now() - begin) / 1e6;
    }
    row("floor", what, (long)bytes, median(batch, BATCHES), "MB/s");
}

static void by_memcpy(void *to, void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    __asm__ volatile("" ::"r"(to), "r"(from) : "memory");
}

static pid_t other;

static void by_kernel(void *to, void *from, size_t bytes)
{
    struct iovec local = { to, bytes }, remote = { from, bytes };
    if (process_vm_readv(other, &local, 1, &remote, 1, 0) != (ssize_t)bytes)
        complain("process_vm_readv is forbidden here");
}

static void copies(size_t bytes)
{
    char *to = pages(bytes), *from = pages(bytes);
    volatile int *stage = shared(PAGE);
    rate_of("memcpy", bytes, by_memcpy, to, from);
    other = fork_or_end();
    if (other == 0) {
        sit_on(1);
        memset(from, 2, bytes);
        *stage = 1;
        while (*stage == 1)
            usleep(1000);
        _exit(0);
    }
    while (!*stage)
        usleep(100);
    rate_of("process_vm_readv", bytes, by_kernel, to, from);
    *stage = 2;
    waitpid(other, NULL, 0);
    munmap(to, bytes);
    munmap(from, bytes);
    munmap((void *)stage, PAGE);
}

static long futex(volatile uint32_t *word, int what, uint32_t value)
{
    return syscall(SYS_futex, word, what, value, NULL, NULL, 0);
}

static void pass(volatile uint32_t *word, uint32_t value, int sleeping)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    if (sleeping)
        futex(word, FUTEX_WAKE, 1);
}

/* A token that goes round `ranks` processes; each waits for its turn yielding or sleeping. */
static void ring(const char *what, uint32_t ranks, uint32_t processors, int sleeping)
{
    enum { ROUNDS = 1000 };
    volatile uint32_t *token = shared(PAGE);
    double begin = 0;
    pid_t children[64];
    for (uint32_t me = ranks; me-- > 0;) {
        if (me && (children[me] = fork_or_end()))
            continue;
        sit_on((int)(me % processors));
        if (!me)
            usleep(3000), begin = now();
        for (uint32_t turn = me; turn < ROUNDS * ranks; turn += ranks) {
            for (uint32_t seen; (seen = *token) != turn;)
                if (sleeping)
                    futex(token, FUTEX_WAIT, seen);
                else
                    sched_yield();
            pass(token, turn + 1, sleeping);
        }
        if (me)
            _exit(0);
    }
    for (uint32_t i = 1; i < ranks; i++)
        waitpid(children[i], NULL, 0);
    row("floor", what, -1, (now() - begin) / ROUNDS / ranks * 1e6, "us");
    munmap((void *)token, PAGE);
}

static void starts(void)
{
    double batch[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        double begin = now();
        for (int i = 0; i < 20; i++) {
            char *words[] = { "true", NULL };
            pid_t child;
            if (posix_spawn(&child, "/bin/true", NULL, NULL, words, NULL))
                complain("/bin/true does not start");
            waitpid(child, NULL, 0);
        }
        batch[b] = (now() - begin) / 20 * 1e6;
    }
    row("floor", "spawn+wait", -1, median(batch, BATCHES), "us");
}

static void yields(void)
{
    double begin = now();
    for (int i = 0; i < 100000; i++)
        sched_yield();
    row("floor", "sched_yield-alone", -1, (now() - begin) / 100000 * 1e6, "us");
}

static void hops_of_four(void)
{
    ring("yield-hop-4-on-2", 4, 2, 0);
}

static void hops_of_eight(void)
{
    ring("yield-hop-8-on-2", 8, 2, 0);
}

static void wakes_near(void)
{
    ring("futex-hop-one-processor", 2, 1, 1);
}

static void wakes_far(void)
{
    ring("futex-hop-two-processors", 2, 2, 1);
}

static void (*const KERNEL[])(void) = { yields,     hops_of_four, hops_of_eight,
                                        wakes_near, wakes_far,    starts };

int main(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    options = &o;
    cpu_set_t may;
    if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) < 2)
        complain("the floor is measured between two processors");
    for (int i = 0; wanted(&o, "latency") && i < o.nsizes; i++)
        if (in_a_child())
            return latency(o.sizes[i]);
    for (size_t i = 0; wanted(&o, "kernel") && i < sizeof KERNEL / sizeof *KERNEL; i++)
        if (in_a_child())
            return KERNEL[i](), 0;
    if (wanted(&o, "copies"))
        for (int i = 0; i < o.nsizes; i++)
            copies(o.sizes[i] ? o.sizes[i] : 8);
    return 0;
}

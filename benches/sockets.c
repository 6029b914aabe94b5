/* The floor under messages over sockets, with no MPI in it: two processes that exchange bytes over a
   TCP connection (`tcp-latency`), or datagrams over two connected UDP sockets (`udp-latency`), and
   one that sends datagrams as fast as the other takes them in (`udp-bandwidth`). Calls look and
   never sleep. Long messages over UDP go in trains of full segments that the kernel cuts and joins
   (UDP_SEGMENT, UDP_GRO). The rows are named as those of an MPI, `latency` and `bandwidth`; their
   segments have 1,472 bytes, as in the packets of an Ethernet, unless the variant says otherwise. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "bench.h"

/* So many messages are answered together, as in bandwidth.c. */
enum { WINDOW = 64, LARGE_WINDOW = 16, LARGE = 256 << 10 };

/* What one call can send: 64 segments, and no more than a datagram of version 4 holds. */
enum { SEGMENTS_MAX = 64, DATAGRAM_MAX = 65507, ETHERNET = 1472 };

/* What a datagram costs of a receive buffer besides its bytes. */
enum { OVERHEAD = 1024 };

/* A second without an answer means that a datagram was lost, which this program does not mend. */
#define PATIENCE 1.0

static const struct options *options;
static struct walk out, in;

/* One end of two that are connected: how it sends and receives whole messages. */
struct line {
    int fd, side;
    size_t segment;          /* of UDP; 0 for TCP */
    size_t room;             /* bytes that may be under way to a UDP socket */
    /* What all datagrams cost that were sent, are known to be taken in, taken in, and told of. */
    uint64_t sent, known, taken, told;
};

static struct sockaddr_in loopback(void)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* A TCP connection over the loopback interface, with this process at one end. */
static struct line tcp(void)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1, fd;
    struct sockaddr_in at = loopback();
    socklen_t size = sizeof at;
    if (bind(listener, (void *)&at, size) || listen(listener, 1) ||
        getsockname(listener, (void *)&at, &size))
        complain("no socket");
    int side = fork_or_end() == 0;
    sit_on(side);
    if (side) {
        fd = accept(listener, NULL, NULL);
    } else {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (void *)&at, size))
            complain("no connection");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    close(listener);
    return (struct line){ .fd = fd, .side = side };
}

/* Two UDP sockets that are connected to each other, with this process at one of them. */
static struct line udp(size_t segment)
{
    int fds[2], wish = 4 << 20, has = 0, one = 1;
    struct sockaddr_in at[2] = { loopback(), loopback() };
    socklen_t size = sizeof at[0];
    for (int i = 0; i < 2; i++) {
        fds[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (bind(fds[i], (void *)&at[i], size) || getsockname(fds[i], (void *)&at[i], &size))
            complain("no socket");
        setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &wish, sizeof wish);
        if (setsockopt(fds[i], IPPROTO_UDP, UDP_GRO, &one, sizeof one))
            complain("this kernel does not join datagrams (UDP_GRO)");
    }
    for (int i = 0; i < 2; i++)
        if (connect(fds[i], (void *)&at[!i], size))
            complain("no connection");
    size = sizeof has;
    getsockopt(fds[0], SOL_SOCKET, SO_RCVBUF, &has, &size);
    int side = fork_or_end() == 0;
    sit_on(side);
    close(fds[!side]);
    /* The kernel counts what it spends for a datagram, which is up to twice what is in it. */
    size_t room = (size_t)has / 2;
    return (struct line){ .fd = fds[side], .side = side, .segment = segment, .room = room };
}

/* What a call that does not sleep has moved: 0 if there was nothing to do yet. */
static size_t moved(ssize_t some)
{
    if (some == 0 || (some < 0 && errno != EAGAIN))
        complain("the connection broke");
    return some < 0 ? 0 : (size_t)some;
}

/* Whether the other end has been silent for too long, by when this was first asked about it. */
static void despair(double *begin)
{
    if (!*begin)
        *begin = now();
    else if (now() > *begin + PATIENCE)
        complain("a datagram was lost");
}

/* Hears what the other end has taken in until no more than `most` is under way. */
static void hear(struct line *l, uint64_t most)
{
    double begin = 0;
    uint64_t known;
    while (l->sent > l->known + most)
        if (moved(recv(l->fd, &known, sizeof known, MSG_DONTWAIT)) == sizeof known)
            l->known = known;
        else
            despair(&begin);
}

/* Tells the other end what has been taken in. */
static void tell(struct line *l)
{
    l->told = l->taken;
    while (!moved(send(l->fd, &l->told, sizeof l->told, MSG_DONTWAIT)))
        ;
}

/* Sends up to a train of segments in one call; how many bytes that were. */
static size_t send_train(struct line *l, char *at, size_t bytes)
{
    size_t train = DATAGRAM_MAX / l->segment;
    train = (train > SEGMENTS_MAX ? SEGMENTS_MAX : train) * l->segment;
    bytes = bytes < train ? bytes : train;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(uint16_t))];
    } control = { 0 };
    struct iovec piece = { at, bytes };
    struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
    if (bytes > l->segment) {
        control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(uint16_t)),
                                           .cmsg_level = SOL_UDP,
                                           .cmsg_type = UDP_SEGMENT };
        *(uint16_t *)CMSG_DATA(&control.header) = (uint16_t)l->segment;
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    size_t done = moved(sendmsg(l->fd, &message, MSG_DONTWAIT));
    l->sent += done ? done + OVERHEAD : 0;
    return done;
}

static void put(struct line *l, char *at, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        if (l->segment)
            hear(l, l->room);
        done += l->segment ? send_train(l, at + done, bytes - done)
                           : moved(send(l->fd, at + done, bytes - done, MSG_DONTWAIT));
    }
}

static void get(struct line *l, char *at, size_t bytes)
{
    double begin = 0;
    for (size_t done = 0; done < bytes;) {
        size_t some = moved(recv(l->fd, at + done, bytes - done, MSG_DONTWAIT));
        done += some;
        if (some && l->segment) {
            begin = 0;
            l->taken += some + OVERHEAD;
            if (l->taken > l->told + l->room / 4)
                tell(l);
        } else if (!some) {
            despair(&begin);
        }
    }
}

static void trips(struct line *l, int n, size_t bytes)
{
    for (int i = 0; i < 2 * n; i++)
        if (i % 2 == l->side)
            put(l, next(&out), bytes);
        else
            get(l, next(&in), bytes);
}

static int window_of(size_t bytes)
{
    return bytes > LARGE ? LARGE_WINDOW : WINDOW;
}

/* So many windows from side 0 to side 1, each of which is answered at its end. */
static void windows(struct line *l, int n, size_t bytes)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < window_of(bytes); k++)
            if (l->side == 0)
                put(l, next(&out), bytes);
            else
                get(l, next(&in), bytes);
        if (l->side == 0)
            hear(l, 0);
        else
            tell(l);
    }
}

/* The median time that one of `trip` takes, in seconds; it is known to side 0 alone. */
static double timed(struct line *l, void (*trip)(struct line *, int, size_t), int probe,
                    size_t bytes)
{
    double batch[BATCHES];
    int32_t n = 0;
    trip(l, probe, bytes);
    double begin = now();
    trip(l, probe, bytes);
    if (l->side == 0)
        n = repetitions((now() - begin) / probe, options->seconds, 1);
    if (l->side == 0 ? write(l->fd, &n, sizeof n) != sizeof n
                     : recv(l->fd, &n, sizeof n, 0) != sizeof n)
        complain("the connection broke");
    for (int b = 0; b < BATCHES; b++) {
        begin = now();
        trip(l, n, bytes);
        batch[b] = (now() - begin) / n;
    }
    if (l->side)
        _exit(0);
    int status;
    if (wait(&status) < 0 || status)
        complain("the other process ended early");
    return median(batch, BATCHES);
}

static int latency(struct line l, size_t bytes)
{
    size_t some = bytes ? bytes : 1;
    l.room = SIZE_MAX / 2; /* a message that has come answers the one that went */
    out = walk_over(pages(some), some, some, 0);
    in = walk_over(pages(some), some, some, 0);
    double each = timed(&l, trips, some < 65536 ? 200 : 20, some);
    row("latency", "warm", (long)bytes, each / 2 * 1e6, "us");
    return 0;
}

static int bandwidth(struct line l, const char *segments, size_t bytes)
{
    size_t room = options->cold ? COLD_BYTES : bytes;
    out = in = walk_over(pages(room), room, bytes, options->cold);
    double each = timed(&l, windows, bytes < 16384 ? 10 : 1, bytes) / window_of(bytes);
    const char *variant = segments ? segments : options->cold ? "cold" : "warm";
    row("bandwidth", variant, (long)bytes, (double)bytes / each / 1e6, "MB/s");
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = parse(argc, argv);
    options = &o;
    cpu_set_t may;
    if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) < 2)
        complain("the floor is measured between two processors");
    for (int i = 0; i < o.nsizes; i++) {
        size_t bytes = o.sizes[i];
        if (wanted(&o, "tcp-latency") && in_a_child())
            return latency(tcp(), bytes);
        if (wanted(&o, "udp-latency") && bytes <= 65536 && in_a_child())
            return latency(udp(ETHERNET), bytes);
        if (!wanted(&o, "udp-bandwidth") || !bytes)
            continue;
        if (in_a_child())
            return bandwidth(udp(ETHERNET), NULL, bytes);
        if (bytes > ETHERNET && in_a_child())
            return bandwidth(udp(8192), "segments-of-8192", bytes);
        if (bytes > ETHERNET && in_a_child())
            return bandwidth(udp(65000), "segments-of-65000", bytes);
    }
    return 0;
}

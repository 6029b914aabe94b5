// What the tests of strangers overhear jobs with: prints the port that they go to and the words in
// hexadecimal digits, for the first words of one process to another over TCP that pass on any
// interface, or with `udp PORT...` for each datagram to one of these ports, until it is killed.
// Prints "listening" first. Takes the right to open packet sockets.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { HELLO = 120, LINK = 14 };

static void tell(int port, const unsigned char *words, ssize_t n) {
    printf("%d ", port);
    for (ssize_t i = 0; i < n; i++) printf("%02x", words[i]);
    putchar('\n');
    fflush(stdout);
}

// A connection's first words, if this is a packet with such.
static void hear_stream(const unsigned char *packet, ssize_t n) {
    ssize_t tcp = LINK + (packet[LINK] & 15) * 4;
    if (packet[LINK + 9] != IPPROTO_TCP || n < tcp + 20) return;
    ssize_t words = tcp + (packet[tcp + 12] >> 4) * 4;
    if (n < words + HELLO || memcmp(packet + words, "FerrTcpH", 8) != 0) return;
    tell(packet[tcp + 2] << 8 | packet[tcp + 3], packet + words, HELLO);
}

// Each of the datagrams that the kernel has joined to this packet, if it goes to one of the ports.
static void hear_datagrams(const unsigned char *packet, ssize_t n, ssize_t segment, char **ports) {
    ssize_t udp = LINK + (packet[LINK] & 15) * 4;
    if (packet[LINK + 9] != IPPROTO_UDP || n < udp + 8) return;
    int port = packet[udp + 2] << 8 | packet[udp + 3];
    while (*ports && atoi(*ports) != port) ports++;
    for (ssize_t at = udp + 8; *ports && at < n; at += segment ? segment : n)
        tell(port, packet + at, segment && segment < n - at ? segment : n - at);
}

int main(int argc, char **argv) {
    static unsigned char heard[1 << 17];
    const unsigned char *packet = heard + sizeof(struct virtio_net_hdr);
    int wire = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), one = 1;
    if (wire < 0 || setsockopt(wire, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one) != 0) {
        perror("a packet socket");
        return 1;
    }
    puts("listening");
    fflush(stdout);
    for (;;) {
        struct virtio_net_hdr joined;
        ssize_t n = recv(wire, heard, sizeof heard, 0) - (ssize_t)sizeof joined;
        if (n < LINK + 20 || packet[LINK] >> 4 != 4) continue;
        memcpy(&joined, heard, sizeof joined);
        if (argc > 2 && strcmp(argv[1], "udp") == 0)
            hear_datagrams(packet, n, joined.gso_type ? joined.gso_size : 0, argv + 2);
        else
            hear_stream(packet, n);
    }
}

// What the test of strangers overhears jobs with: prints, for the first words of one process to
// another that pass on any interface, the port that they go to and the words in hexadecimal digits,
// until it is killed. Prints "listening" first. Takes the right to open packet sockets.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { HELLO = 120, LINK = 14 };

int main(void) {
    static unsigned char packet[1 << 17];
    int wire = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    if (wire < 0) {
        perror("a packet socket");
        return 1;
    }
    puts("listening");
    fflush(stdout);
    for (;;) {
        ssize_t n = recv(wire, packet, sizeof packet, 0);
        if (n < LINK + 20 || packet[LINK] >> 4 != 4 || packet[LINK + 9] != IPPROTO_TCP) continue;
        ssize_t tcp = LINK + (packet[LINK] & 15) * 4;
        if (n < tcp + 20) continue;
        ssize_t words = tcp + (packet[tcp + 12] >> 4) * 4;
        if (n < words + HELLO || memcmp(packet + words, "FerrTcpH", 8) != 0) continue;
        printf("%d ", packet[tcp + 2] << 8 | packet[tcp + 3]);
        for (int i = 0; i < HELLO; i++) printf("%02x", packet[words + i]);
        putchar('\n');
        fflush(stdout);
    }
}

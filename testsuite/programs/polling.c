// ranks: 1 2 3 5
// Programs that wait by calls that do not (MPI-5.0 §3.7.3, §3.7.5, §3.7.6, §3.8.1): a token goes round, and
// everyone looks for it in a loop. Given a number, it is the most looks in vain for one token: where ranks share
// a processor, who looks has to let go of it for the token to come.
#include "check.h"

enum { ROUNDS = 100 };
enum { IPROBE, IMPROBE, TEST, TESTALL, TESTANY, TESTSOME, GET_STATUS, FORMS };
static const char *names[FORMS] = {"Iprobe",  "Improbe",  "Test",      "Testall",
                                   "Testany", "Testsome", "Get_status"};

// Looks for the message once; whether it is there. With the first two forms it is then received.
static int look(int form, int from, int tag, MPI_Request *request, int *token) {
    MPI_Comm all = MPI_COMM_WORLD;
    MPI_Message message;
    int found = 0, index = 0;
    if (form == IPROBE) {
        OK(MPI_Iprobe(from, tag, all, &found, MPI_STATUS_IGNORE));
        if (found) OK(MPI_Recv(token, 1, MPI_INT, from, tag, all, MPI_STATUS_IGNORE));
    } else if (form == IMPROBE) {
        OK(MPI_Improbe(from, tag, all, &found, &message, MPI_STATUS_IGNORE));
        if (found) OK(MPI_Mrecv(token, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    } else if (form == TEST) {
        OK(MPI_Test(request, &found, MPI_STATUS_IGNORE));
    } else if (form == TESTALL) {
        OK(MPI_Testall(1, request, &found, MPI_STATUSES_IGNORE));
    } else if (form == TESTANY) {
        OK(MPI_Testany(1, request, &index, &found, MPI_STATUS_IGNORE));
    } else if (form == TESTSOME) {
        OK(MPI_Testsome(1, request, &found, &index, MPI_STATUSES_IGNORE));
    } else {
        OK(MPI_Request_get_status(*request, &found, MPI_STATUS_IGNORE));
        if (found) OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    }
    return found;
}

// Sends the token on, in the first rank before it waits, and returns how often it looked in vain.
static long long pass_on(int form, int tag) {
    int from = (rank + size - 1) % size, to = (rank + 1) % size, token = -1, mine = tag + rank;
    long long vain = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request sent = MPI_REQUEST_NULL;
    if (form > IMPROBE)
        OK(MPI_Irecv(&token, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &request));
    if (rank == 0) OK(MPI_Isend(&mine, 1, MPI_INT, to, tag, MPI_COMM_WORLD, &sent));
    while (!look(form, from, tag, &request, &token)) vain++;
    if (rank != 0) OK(MPI_Isend(&mine, 1, MPI_INT, to, tag, MPI_COMM_WORLD, &sent));
    OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK(token == tag + from, "%s: token %d from %d, not %d", names[form], token, from, tag + from);
    return vain;
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    long long most = argc > 1 ? atoll(argv[1]) : -1;
    for (int form = 0; form < FORMS; form++) {
        long long vain = 0;
        for (int round = 0; round < ROUNDS; round++) vain += pass_on(form, round);
        CHECK(most < 0 || vain <= most * ROUNDS, "%s: %lld looks in vain for %d tokens", names[form],
              vain, ROUNDS);
    }
    return finish();
}

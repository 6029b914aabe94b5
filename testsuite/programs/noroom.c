// ranks: 1
// Packing into too little room, and unpacking more than there is, is refused before a byte is
// written (MPI-5.0 §5.2; the standard calls it erroneous, not every library looks).
#include "check.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    int words[4] = {1, 2, 3, 4}, position = 0;
    char buffer[32];
    memset(buffer, 0x3c, sizeof buffer);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    REFUSED(MPI_Pack(words, 4, MPI_INT, buffer, 15, &position, MPI_COMM_WORLD));
    for (size_t i = 0; i < sizeof buffer; i++) EQUAL(buffer[i], 0x3c);
    position = 0;
    REFUSED(MPI_Unpack(buffer, 15, &position, words, 4, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < 4; i++) EQUAL(words[i], i + 1);
    position = 20;
    REFUSED(MPI_Unpack(buffer, 15, &position, words, 0, MPI_INT, MPI_COMM_WORLD));
    return finish();
}

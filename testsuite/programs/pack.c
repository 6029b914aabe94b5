// ranks: 2
// Packing and unpacking, native and external32 (MPI-5.0 §5.2, §5.3).
#include "check.h"

static char buffer[100000];

// A packed mixture is received as packed, or as the struct type that has its signature.
static void mixture(void) {
    int number = 17 + rank, position = 0, room = 0, part = 0;
    double values[3] = {1.5, rank, -4};
    OK(MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &part));
    room += part;
    OK(MPI_Pack_size(3, MPI_DOUBLE, MPI_COMM_WORLD, &part));
    room += part;
    CHECK(room >= (int)(sizeof number + sizeof values), "room of %d", room);
    OK(MPI_Pack(&number, 1, MPI_INT, buffer, room, &position, MPI_COMM_WORLD));
    OK(MPI_Pack(values, 3, MPI_DOUBLE, buffer, room, &position, MPI_COMM_WORLD));
    int packed = position;
    char in[200];
    MPI_Status status;
    OK(MPI_Sendrecv(buffer, packed, MPI_PACKED, 1 - rank, 1, in, sizeof in, MPI_PACKED, 1 - rank, 1,
                    MPI_COMM_WORLD, &status));
    int count = -1;
    OK(MPI_Get_count(&status, MPI_PACKED, &count));
    EQUAL(count, packed);
    position = 0;
    OK(MPI_Unpack(in, count, &position, &number, 1, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Unpack(in, count, &position, values, 3, MPI_DOUBLE, MPI_COMM_WORLD));
    EQUAL(position, count);
    EQUAL(number, 17 + 1 - rank);
    CHECK(values[0] == 1.5 && values[1] == 1 - rank && values[2] == -4, "the doubles");
}

// Piece by piece equals all at once, for a type with gaps.
static void pieces(void) {
    int words[1000], back[1000], position = 0, whole = 0;
    char other[8000];
    MPI_Datatype type;
    for (int i = 0; i < 1000; i++) {
        words[i] = i;
        back[i] = -1;
    }
    OK(MPI_Type_vector(10, 3, 10, MPI_INT, &type));
    MPI_Datatype spaced;
    OK(MPI_Type_create_resized(type, 0, 100 * sizeof(int), &spaced));
    OK(MPI_Type_commit(&spaced));
    OK(MPI_Pack(words, 10, spaced, buffer, sizeof buffer, &whole, MPI_COMM_SELF));
    for (int i = 0; i < 10; i++)
        OK(MPI_Pack(words + 100 * i, 1, spaced, other, sizeof other, &position, MPI_COMM_SELF));
    EQUAL(position, whole);
    CHECK(memcmp(buffer, other, (size_t)whole) == 0, "piecewise packing gives the same bytes");
    position = 0;
    OK(MPI_Unpack(buffer, whole, &position, back, 10, spaced, MPI_COMM_SELF));
    for (int i = 0; i < 1000; i++) EQUAL(back[i], i % 10 < 3 ? i : -1);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_free(&spaced));
}

// external32 is big-endian with fixed sizes, on every machine.
static void external(void) {
    int word = 0x01020304, back = 0;
    short half = 0x0506;
    double one = 1.0, one_back = 0;
    MPI_Aint room = 0, position = 0;
    OK(MPI_Pack_external_size("external32", 1, MPI_INT, &room));
    EQUAL(room, 4);
    OK(MPI_Pack_external("external32", &word, 1, MPI_INT, buffer, 100, &position));
    OK(MPI_Pack_external("external32", &half, 1, MPI_SHORT, buffer, 100, &position));
    OK(MPI_Pack_external("external32", &one, 1, MPI_DOUBLE, buffer, 100, &position));
    EQUAL(position, 14);
    static const unsigned char wanted[] = {1, 2, 3, 4, 5, 6, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0};
    CHECK(memcmp(buffer, wanted, sizeof wanted) == 0, "big-endian bytes");
    position = 0;
    OK(MPI_Unpack_external("external32", buffer, 14, &position, &back, 1, MPI_INT));
    EQUAL(back, word);
    OK(MPI_Unpack_external("external32", buffer, 14, &position, &half, 1, MPI_SHORT));
    OK(MPI_Unpack_external("external32", buffer, 14, &position, &one_back, 1, MPI_DOUBLE));
    CHECK(one_back == 1.0, "%g", one_back);
    EQUAL(position, 14);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    mixture();
    pieces();
    external();
    return finish();
}

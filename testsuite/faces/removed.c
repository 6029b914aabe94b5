/* The ten procedures of MPI-1 that MPI-3.0 removed and that old binaries still call, with the marker
   types MPI_LB and MPI_UB where the ABI has them. The headers of today do not declare them all. */
#include "check.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#undef MPI_Address
#undef MPI_Errhandler_create
#undef MPI_Errhandler_get
#undef MPI_Errhandler_set
#undef MPI_Type_extent
#undef MPI_Type_hindexed
#undef MPI_Type_hvector
#undef MPI_Type_lb
#undef MPI_Type_struct
#undef MPI_Type_ub
int MPI_Address(void *location, MPI_Aint *address);
int MPI_Errhandler_create(void (*function)(MPI_Comm *, int *, ...), MPI_Errhandler *errhandler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler);
int MPI_Type_extent(MPI_Datatype type, MPI_Aint *extent);
int MPI_Type_hindexed(int count, int lengths[], MPI_Aint places[], MPI_Datatype old,
                      MPI_Datatype *type);
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_lb(MPI_Datatype type, MPI_Aint *bound);
int MPI_Type_struct(int count, int lengths[], MPI_Aint places[], MPI_Datatype types[],
                    MPI_Datatype *type);
int MPI_Type_ub(MPI_Datatype type, MPI_Aint *bound);

#ifdef OPEN_MPI
extern char ompi_mpi_lb, ompi_mpi_ub;
static MPI_Datatype lower(void) { return (MPI_Datatype)&ompi_mpi_lb; }
static MPI_Datatype upper(void) { return (MPI_Datatype)&ompi_mpi_ub; }
#else
static MPI_Datatype lower(void) { return (MPI_Datatype)0x4c000010; }
static MPI_Datatype upper(void) { return (MPI_Datatype)0x4c000011; }
#endif

static int told;

static void bounds_are(MPI_Datatype type, long from, long to)
{
    MPI_Aint lb = -999, ub = -999, extent = -999;
    CHECK(MPI_Type_lb(type, &lb) == MPI_SUCCESS && lb == from);
    CHECK(MPI_Type_ub(type, &ub) == MPI_SUCCESS && ub == to);
    CHECK(MPI_Type_extent(type, &extent) == MPI_SUCCESS && extent == to - from);
}

/* Packs one element and compares it with the bytes at these places, four by four. */
static void picks(MPI_Datatype type, int count, const int places[])
{
    char memory[256], packed[64];
    int i, end = 0;
    for (i = 0; i < 256; i++)
        memory[i] = (char)i;
    CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
    CHECK(MPI_Pack(memory, 1, type, packed, sizeof packed, &end, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(end == 4 * count);
    for (i = 0; i < count; i++)
        CHECK(memcmp(packed + 4 * i, memory + places[i], 4) == 0);
    MPI_Type_free(&type);
}

static void types(void)
{
    int lengths[] = {2, 1}, one[] = {1, 1, 1};
    MPI_Aint places[] = {8, 40}, marked[] = {-8, 16, 100}, start = 0, second = 0;
    int pair[2];
    MPI_Datatype type, parts[] = {lower(), MPI_INT, upper()}, two[] = {MPI_INT, MPI_FLOAT};
    const int at_vector[] = {0, 4, 24, 28}, at_indexed[] = {8, 12, 40}, at_struct[] = {16};

    CHECK(MPI_Address(&pair[0], &start) == MPI_SUCCESS);
    CHECK(MPI_Address(&pair[1], &second) == MPI_SUCCESS);
    CHECK(second - start == sizeof(int));
    CHECK(MPI_Type_hvector(2, 2, 24, MPI_INT, &type) == MPI_SUCCESS);
    bounds_are(type, 0, 32);
    picks(type, 4, at_vector);
    CHECK(MPI_Type_hindexed(2, lengths, places, MPI_INT, &type) == MPI_SUCCESS);
    bounds_are(type, 8, 44);
    picks(type, 3, at_indexed);
    CHECK(MPI_Type_struct(2, lengths, places, two, &type) == MPI_SUCCESS);
    bounds_are(type, 8, 44);
    picks(type, 3, at_indexed);
    CHECK(MPI_Type_struct(3, one, marked, parts, &type) == MPI_SUCCESS);
    bounds_are(type, -8, 100);
    picks(type, 1, at_struct);
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_SELF && *code != MPI_SUCCESS);
    told++;
}

static void handlers(void)
{
    MPI_Errhandler mine, old, now;
    CHECK(MPI_Errhandler_create(handler, &mine) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_get(MPI_COMM_SELF, &old) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_set(MPI_COMM_SELF, mine) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_get(MPI_COMM_SELF, &now) == MPI_SUCCESS && now == mine);
    CHECK(MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_SELF) != MPI_SUCCESS);
    CHECK(told == 1);
    CHECK(MPI_Errhandler_set(MPI_COMM_SELF, old) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&now) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&mine) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    types();
    handlers();
    MPI_Finalize();
    if (!bad)
        puts("ok");
    return bad;
}

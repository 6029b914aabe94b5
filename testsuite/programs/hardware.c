// ranks: 1 2 3 4
// Communicators by the hardware that processes are tied to (MPI-5.0 §7.4.2 and §9.1.2).
#define _GNU_SOURCE
#include "check.h"

#include <sched.h>

static cpu_set_t all;
static int cpus[CPU_SETSIZE], count;

// The processors of all ranks together.
static void look(void) {
    cpu_set_t own;
    CPU_ZERO(&own);
    EQUAL(sched_getaffinity(0, sizeof own, &own), 0);
    OK(MPI_Allreduce(&own, &all, sizeof own, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all)) cpus[count++] = cpu;
}

static void sit_on(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
}

static MPI_Comm split(MPI_Comm comm, int type, const char *key, const char *value) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm part = MPI_COMM_WORLD;
    if (key) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, key, value));
    }
    OK(MPI_Comm_split_type(comm, type, 0, info, &part));
    if (key) OK(MPI_Info_free(&info));
    return part;
}

// Splits by what the library chooses, which it names so that a guided split gives the same parts.
static MPI_Comm split_unasked(MPI_Comm comm) {
    MPI_Info info;
    MPI_Comm part = MPI_COMM_WORLD;
    char resource[64] = "";
    int length = sizeof resource, told = 0, result = MPI_UNEQUAL;
    OK(MPI_Info_create(&info));
    OK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part));
    OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, resource, &told));
    EQUAL(told, part != MPI_COMM_NULL);
    OK(MPI_Info_free(&info));
    // Who is in no part cannot know the name that the others were told.
    MPI_Comm all;
    OK(MPI_Comm_split(comm, told ? 0 : MPI_UNDEFINED, 0, &all));
    if (!told) return part;
    MPI_Comm same = split(all, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", resource);
    OK(MPI_Comm_compare(part, same, &result));
    EQUAL(result, MPI_CONGRUENT);
    OK(MPI_Comm_free(&same));
    OK(MPI_Comm_free(&all));
    return part;
}

static int size_of(MPI_Comm *comm) {
    int members = 0;
    if (*comm == MPI_COMM_NULL) return 0;
    OK(MPI_Comm_size(*comm, &members));
    OK(MPI_Comm_free(comm));
    return members;
}

static int is_tied(const char *resource) {
    MPI_Info info;
    char text[8] = "";
    int length = sizeof text, there = 0;
    OK(MPI_Get_hw_resource_info(&info));
    OK(MPI_Info_get_string(info, resource, &length, text, &there));
    CHECK(there, "the resource is known");
    OK(MPI_Info_free(&info));
    CHECK(!strcmp(text, "true") || !strcmp(text, "false"), "yes or no");
    return !strcmp(text, "true");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    look();
    int turns = count < size ? count : size;
    sit_on(cpus[rank % turns]);
    const char *names[] = {"hwloc://Package", "hwloc://NUMANode", "hwloc://Core", "hwloc://PU"};
    for (int i = 0; i < 4; i++) CHECK(is_tied(names[i]), "one processor is in one of each");

    int neighbours = (size - rank % turns + turns - 1) / turns;
    MPI_Comm part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", names[3]);
    EQUAL(size_of(&part), neighbours);
    part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_hw_resource_type", names[3]);
    EQUAL(size_of(&part), neighbours);
    part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory");
    EQUAL(size_of(&part), size);
    part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "moon://crater");
    CHECK(part == MPI_COMM_NULL, "a resource that nobody knows");
    part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, NULL, NULL);
    CHECK(part == MPI_COMM_NULL, "no resource named");

    // Process sets are named in capitals or not, as URIs go.
    const char *all_of_them[] = {"mpi://WORLD", "mpi://world"};
    const char *alone[] = {"mpi://SELF", "MPI://Self"};
    for (int i = 0; i < 2; i++) {
        part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", all_of_them[i]);
        EQUAL(size_of(&part), size);
        part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", alone[i]);
        EQUAL(size_of(&part), 1);
    }
    part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://moon");
    CHECK(part == MPI_COMM_NULL, "a set that nobody knows");

    part = MPI_COMM_WORLD;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, MPI_INFO_ENV, &part));
    CHECK(part == MPI_COMM_NULL, "an info object that cannot be changed, without a resource");

    // Unasked, each communicator is smaller than that above it, down to one processor each.
    MPI_Comm at = MPI_COMM_WORLD, finer;
    int members = size;
    for (;;) {
        finer = split_unasked(at);
        if (at != MPI_COMM_WORLD) OK(MPI_Comm_free(&at));
        if (finer == MPI_COMM_NULL) break;
        int smaller = 0;
        OK(MPI_Comm_size(finer, &smaller));
        CHECK(smaller < members, "a part of it");
        members = smaller;
        at = finer;
    }
    EQUAL(members, neighbours);

    // Some may stay out, and the info object may be one that cannot be changed.
    int type = rank ? MPI_COMM_TYPE_HW_UNGUIDED : MPI_UNDEFINED;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_ENV, &part));
    CHECK(rank || part == MPI_COMM_NULL, "stayed out");
    EQUAL(size_of(&part), rank ? size - 1 : 0);

    // Who may run anywhere is tied to no processor.
    if (count > 1 && rank == 0) EQUAL(sched_setaffinity(0, sizeof all, &all), 0);
    int free_one = count > 1 && rank == 0;
    EQUAL(is_tied("hwloc://PU"), !free_one);
    part = split(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "hwloc://PU");
    EQUAL(size_of(&part), free_one ? 0 : neighbours - (count > 1 && rank % turns == 0));
    return finish();
}

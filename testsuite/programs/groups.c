// ranks: 1 2 4 8
// Groups as sets and as orders (MPI-5.0 §7.3).
#include "check.h"

static void expect(MPI_Group group, int count, const int *world_ranks, const char *what) {
    MPI_Group world;
    int length = -1, own = -1, want = MPI_UNDEFINED;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(group, &length));
    CHECK(length == count, "%s has %d members, not %d", what, length, count);
    for (int i = 0; i < count && i < length; i++) {
        int got = -2;
        OK(MPI_Group_translate_ranks(group, 1, &i, world, &got));
        CHECK(got == world_ranks[i], "%s: member %d is %d, not %d", what, i, got, world_ranks[i]);
        if (world_ranks[i] == rank) want = i;
    }
    OK(MPI_Group_rank(group, &own));
    EQUAL(own, want);
    OK(MPI_Group_free(&world));
}

static void subsets(MPI_Group world) {
    MPI_Group odd, rest, ranges, outside;
    int odds[8], evens[8], backwards[8], count = 0, other = 0;
    for (int r = 0; r < size; r++) {
        if (r % 2) odds[count++] = r;
        else evens[other++] = r;
        backwards[r] = size - 1 - r;
    }
    OK(MPI_Group_incl(world, count, odds, &odd));
    expect(odd, count, odds, "incl");
    OK(MPI_Group_excl(world, count, odds, &rest));
    expect(rest, other, evens, "excl");
    int range[1][3] = {{size - 1, 0, -1}}, steps[1][3] = {{0, size - 1, 2}};
    OK(MPI_Group_range_incl(world, 1, range, &ranges));
    expect(ranges, size, backwards, "range_incl");
    OK(MPI_Group_range_excl(world, 1, steps, &outside));
    expect(outside, count, odds, "range_excl");

    int result = -1;
    OK(MPI_Group_compare(world, ranges, &result));
    EQUAL(result, size == 1 ? MPI_IDENT : MPI_SIMILAR);
    OK(MPI_Group_compare(odd, outside, &result));
    EQUAL(result, MPI_IDENT);
    OK(MPI_Group_compare(odd, rest, &result));
    EQUAL(result, MPI_UNEQUAL);

    MPI_Group both, none, all, left;
    OK(MPI_Group_intersection(ranges, odd, &both)); // the order of the first
    for (int i = 0; i < count; i++) backwards[i] = odds[count - 1 - i];
    expect(both, count, backwards, "intersection");
    OK(MPI_Group_intersection(odd, rest, &none));
    expect(none, 0, NULL, "empty intersection");
    OK(MPI_Group_union(odd, world, &all)); // the first, then what the second adds
    for (int i = 0; i < size; i++) backwards[i] = i < count ? odds[i] : evens[i - count];
    expect(all, size, backwards, "union");
    OK(MPI_Group_difference(world, odd, &left));
    expect(left, other, evens, "difference");
    MPI_Group made[] = {odd, rest, ranges, outside, both, all, left};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (made[i] != MPI_GROUP_EMPTY) OK(MPI_Group_free(&made[i]));
}

static void edges(MPI_Group world) {
    MPI_Group self;
    int zero = 0, got = -5, result = -1, nobody = MPI_PROC_NULL;
    OK(MPI_Comm_group(MPI_COMM_SELF, &self));
    OK(MPI_Group_translate_ranks(self, 1, &zero, world, &got));
    EQUAL(got, rank);
    int other = (rank + 1) % size;
    OK(MPI_Group_translate_ranks(world, 1, &other, self, &got));
    EQUAL(got, other == rank ? 0 : MPI_UNDEFINED);
    OK(MPI_Group_translate_ranks(world, 1, &nobody, self, &got));
    EQUAL(got, MPI_PROC_NULL);
    OK(MPI_Group_size(MPI_GROUP_EMPTY, &got));
    EQUAL(got, 0);
    OK(MPI_Group_rank(MPI_GROUP_EMPTY, &got));
    EQUAL(got, MPI_UNDEFINED);
    OK(MPI_Group_compare(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &result));
    EQUAL(result, MPI_IDENT);
    OK(MPI_Group_free(&self));
    CHECK(self == MPI_GROUP_NULL, "a freed group is null");
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Group world;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    subsets(world);
    edges(world);
    OK(MPI_Group_free(&world));
    return finish();
}

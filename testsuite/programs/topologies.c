// ranks: 1 2 3 4 6 8
// Cartesian, graph and distributed graph topologies (MPI-5.0 §8.5).
#include "check.h"

enum { MOST = 8 };

static int kind_of(MPI_Comm comm) {
    int kind = -1;
    OK(MPI_Topo_test(comm, &kind));
    return kind;
}

static void dimensions(void) {
    int two[2] = {0, 0}, three[3] = {0, 3, 0}, four[4] = {0, 0, 0, 0};
    OK(MPI_Dims_create(12, 2, two));
    CHECK(two[0] == 4 && two[1] == 3, "%d x %d", two[0], two[1]);
    OK(MPI_Dims_create(6, 3, three));
    CHECK(three[0] == 2 && three[1] == 3 && three[2] == 1, "%d %d %d", three[0], three[1], three[2]);
    OK(MPI_Dims_create(size, 4, four));
    EQUAL(four[0] * four[1] * four[2] * four[3], size);
    CHECK(four[0] >= four[1] && four[1] >= four[2] && four[2] >= four[3], "longest first");
    three[0] = three[2] = 0;
    three[1] = 4;
    REFUSED(MPI_Dims_create(6, 3, three));
}

// Coordinates there and back, and shifts in both directions, with and without a period.
static void check_grid(MPI_Comm grid, const int *dims) {
    int dim_count = -1, got[3], periods[3], own[3], me = -1, there = -1, coords[3];
    EQUAL(kind_of(grid), MPI_CART);
    OK(MPI_Cartdim_get(grid, &dim_count));
    EQUAL(dim_count, 2);
    OK(MPI_Cart_get(grid, 2, got, periods, own));
    CHECK(got[0] == dims[0] && got[1] == dims[1], "%d x %d", got[0], got[1]);
    CHECK(!periods[0] && periods[1], "%d, %d", periods[0], periods[1]);
    OK(MPI_Comm_rank(grid, &me));
    EQUAL(own[0] * dims[1] + own[1], me);
    for (int r = 0; r < dims[0] * dims[1]; r++) {
        OK(MPI_Cart_coords(grid, r, 2, coords));
        EQUAL(coords[0], r / dims[1]);
        EQUAL(coords[1], r % dims[1]);
        OK(MPI_Cart_rank(grid, coords, &there));
        EQUAL(there, r);
    }
    coords[0] = 0;
    coords[1] = -1; // wraps round
    OK(MPI_Cart_rank(grid, coords, &there));
    EQUAL(there, dims[1] - 1);
    int from = -1, to = -1;
    OK(MPI_Cart_shift(grid, 0, 1, &from, &to));
    EQUAL(from, own[0] > 0 ? me - dims[1] : MPI_PROC_NULL);
    EQUAL(to, own[0] < dims[0] - 1 ? me + dims[1] : MPI_PROC_NULL);
    OK(MPI_Cart_shift(grid, 1, -1, &from, &to));
    EQUAL(to, own[0] * dims[1] + (own[1] + dims[1] - 1) % dims[1]);
    EQUAL(from, own[0] * dims[1] + (own[1] + 1) % dims[1]);
    OK(MPI_Cart_shift(grid, 1, 0, &from, &to));
    CHECK(from == me && to == me, "a shift by nothing: %d, %d", from, to);
}

static void grids(void) {
    int dims[2] = {0, 0}, periods[2] = {0, 1};
    MPI_Comm grid, dup, row, none;
    OK(MPI_Dims_create(size, 2, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
    check_grid(grid, dims);
    OK(MPI_Comm_dup(grid, &dup)); // §8.5: the topology goes along
    check_grid(dup, dims);
    // Rows: along the dimension that wraps round.
    int remain[2] = {0, 1}, got = -1, period = -1, coord = -1, own[2], me = -1, sum = 0;
    OK(MPI_Comm_rank(grid, &me));
    OK(MPI_Cart_coords(grid, me, 2, own));
    OK(MPI_Cart_sub(grid, remain, &row));
    OK(MPI_Cart_get(row, 1, &got, &period, &coord));
    CHECK(got == dims[1] && period && coord == own[1], "%d %d %d", got, period, coord);
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, row));
    EQUAL(sum, dims[1] * (own[0] * dims[1]) + dims[1] * (dims[1] - 1) / 2);
    remain[1] = 0;
    OK(MPI_Cart_sub(grid, remain, &none)); // a grid of no dimension has one process
    OK(MPI_Comm_size(none, &got));
    EQUAL(got, 1);
    OK(MPI_Cartdim_get(none, &got));
    EQUAL(got, 0);
    OK(MPI_Comm_free(&none));
    OK(MPI_Comm_free(&row));
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_free(&grid));
    // Smaller than the world: the rest gets nothing.
    int place = -7, one = size > 1 ? size - 1 : 1;
    OK(MPI_Cart_map(MPI_COMM_WORLD, 1, &one, periods, &place));
    CHECK(place == MPI_UNDEFINED || (place >= 0 && place < one), "place %d of %d", place, one);
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &one, periods, 1, &grid));
    if (grid != MPI_COMM_NULL) {
        OK(MPI_Comm_size(grid, &got));
        EQUAL(got, one);
        OK(MPI_Comm_free(&grid));
    } else {
        CHECK(size > 1, "the only process has a place");
    }
}

// A star: node 0 with all others.
static void graphs(void) {
    int index[MOST], edges[2 * MOST], at = 0, nodes = -1, count = -1;
    for (int r = 1; r < size; r++) edges[at++] = r;
    index[0] = at;
    for (int r = 1; r < size; r++) {
        edges[at++] = 0;
        index[r] = at;
    }
    MPI_Comm star, none;
    int place = -7;
    OK(MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &place));
    CHECK(place >= 0 && place < size, "place %d", place);
    OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &star));
    EQUAL(kind_of(star), MPI_GRAPH);
    OK(MPI_Graphdims_get(star, &nodes, &count));
    CHECK(nodes == size && count == at, "%d nodes, %d edges", nodes, count);
    int got_index[MOST], got[2 * MOST];
    OK(MPI_Graph_get(star, nodes, count, got_index, got));
    CHECK(memcmp(index, got_index, (size_t)size * sizeof *index) == 0, "another index");
    CHECK(memcmp(edges, got, (size_t)at * sizeof *edges) == 0, "other edges");
    OK(MPI_Graph_neighbors_count(star, 0, &count));
    EQUAL(count, size - 1);
    OK(MPI_Graph_neighbors(star, 0, MOST, got));
    for (int i = 0; i < count; i++) EQUAL(got[i], i + 1);
    if (size > 1) {
        OK(MPI_Graph_neighbors_count(star, size - 1, &count));
        EQUAL(count, 1);
        OK(MPI_Graph_neighbors(star, size - 1, 1, got));
        EQUAL(got[0], 0);
    }
    OK(MPI_Comm_free(&star));
    OK(MPI_Graph_create(MPI_COMM_WORLD, 0, index, edges, 0, &none));
    CHECK(none == MPI_COMM_NULL, "a graph without nodes has no processes");
}

static int contains(const int *ranks, const int *weights, int count, int wanted, int weight) {
    for (int i = 0; i < count; i++)
        if (ranks[i] == wanted && weights[i] == weight) return 1;
    return 0;
}

// Everybody sends to the next two; each edge is named by its own source, or all by rank 0.
static void distributed(int all_by_one) {
    int sources[MOST], degrees[MOST], ends[2 * MOST], weights[2 * MOST], n = 0, in, out, weighted;
    for (int r = 0; r < size; r++) {
        if (all_by_one ? rank != 0 : rank != r) continue;
        sources[n] = r;
        degrees[n] = 2;
        for (int k = 0; k < 2; k++) {
            ends[2 * n + k] = (r + k + 1) % size;
            weights[2 * n + k] = 100 * r + k;
        }
        n++;
    }
    MPI_Comm graph;
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, ends,
                             n ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph));
    EQUAL(kind_of(graph), MPI_DIST_GRAPH);
    OK(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
    CHECK(in == 2 && out == 2 && weighted, "%d in, %d out, %d", in, out, weighted);
    int from[2], to[2], from_weights[2], to_weights[2];
    OK(MPI_Dist_graph_neighbors(graph, 2, from, from_weights, 2, to, to_weights));
    for (int k = 0; k < 2; k++) {
        int source = (rank + 2 * size - k - 1) % size;
        CHECK(contains(from, from_weights, 2, source, 100 * source + k), "none from %d", source);
        int target = (rank + k + 1) % size;
        CHECK(contains(to, to_weights, 2, target, 100 * rank + k), "none to %d", target);
    }
    OK(MPI_Comm_free(&graph));
}

static void adjacent(void) {
    int from[2] = {(rank + size - 1) % size, rank}, to[2] = {(rank + 1) % size, rank};
    int got_from[2], got_to[2], in, out, weighted, untouched[2] = {-5, -5};
    MPI_Comm graph, dup;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, to,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Comm_dup(graph, &dup));
    OK(MPI_Comm_free(&graph));
    OK(MPI_Dist_graph_neighbors_count(dup, &in, &out, &weighted));
    CHECK(in == 2 && out == 2 && !weighted, "%d in, %d out, %d", in, out, weighted);
    OK(MPI_Dist_graph_neighbors(dup, 2, got_from, MPI_UNWEIGHTED, 2, got_to, MPI_UNWEIGHTED));
    CHECK(memcmp(from, got_from, sizeof from) == 0, "sources keep their order");
    CHECK(memcmp(to, got_to, sizeof to) == 0, "destinations keep their order");
    OK(MPI_Dist_graph_neighbors(dup, 1, got_from, untouched, 0, got_to, untouched));
    EQUAL(untouched[1], -5);
    OK(MPI_Comm_free(&dup));
}

static void mistakes(void) {
    int dims[2] = {size + 1, 1}, periods[2] = {0, 0}, value = -1, stranger = size;
    MPI_Comm grid;
    EQUAL(kind_of(MPI_COMM_WORLD), MPI_UNDEFINED);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_Cartdim_get(MPI_COMM_WORLD, &value), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, &value), MPI_ERR_TOPOLOGY);
    REFUSED(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
    REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &stranger, MPI_UNWEIGHTED, 0, NULL,
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &grid));
    dims[0] = 1;
    OK(MPI_Cart_create(MPI_COMM_SELF, 2, dims, periods, 0, &grid));
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    int coords[2] = {0, 1}, from = 0, to = 0;
    REFUSED(MPI_Cart_rank(grid, coords, &value));
    REFUSED(MPI_Cart_shift(grid, 2, 1, &from, &to));
    REFUSED(MPI_Cart_coords(grid, 1, 2, coords));
    OK(MPI_Comm_free(&grid));
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    dimensions();
    grids();
    graphs();
    distributed(0);
    distributed(1);
    adjacent();
    mistakes();
    return finish();
}

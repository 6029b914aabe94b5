// ranks: 1 2
// The same header and library from C++: handles overload, callbacks are C++ functions.
#include "check.h"
#include <numeric>
#include <vector>

static const char *kind(MPI_Comm) { return "communicator"; }
static const char *kind(MPI_Datatype) { return "datatype"; }
static const char *kind(MPI_Op) { return "operation"; }

static void multiply(void *in, void *inout, int *length, MPI_Datatype *) {
    for (int i = 0; i < *length; i++) static_cast<long *>(inout)[i] *= static_cast<long *>(in)[i];
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    CHECK(kind(MPI_COMM_WORLD)[0] == 'c' && kind(MPI_INT)[0] == 'd' && kind(MPI_SUM)[0] == 'o',
          "handles are different types");
    std::vector<double> mine(1000, rank + 1.0), sum(1000);
    OK(MPI_Allreduce(mine.data(), sum.data(), 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    double total = std::accumulate(sum.begin(), sum.end(), 0.0);
    CHECK(total == 1000.0 * size * (size + 1) / 2, "%g", total);
    MPI_Op op;
    long factor = rank + 2, product = 0, want = 1;
    OK(MPI_Op_create(multiply, 1, &op));
    OK(MPI_Allreduce(&factor, &product, 1, MPI_LONG, op, MPI_COMM_WORLD));
    for (int r = 0; r < size; r++) want *= r + 2;
    EQUAL(product, want);
    OK(MPI_Op_free(&op));
    bool yes = true, all = false;
    OK(MPI_Allreduce(&yes, &all, 1, MPI_CXX_BOOL, MPI_LAND, MPI_COMM_WORLD));
    CHECK(all, "and of true");
    return finish();
}

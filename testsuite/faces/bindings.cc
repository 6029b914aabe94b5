// The C++ bindings of MPI-2, as Open MPI 4 has them in libmpi_cxx.so.40: objects, messages, operations,
// attributes and error handlers that are C++ functions. On any number of ranks.
#include <mpi.h>
#include <cstdio>
#include <cstring>

static int bad, heard;

static void check(bool good, const char *what) {
    if (!good) bad++, std::fprintf(stderr, "rank %d: %s\n", MPI::COMM_WORLD.Get_rank(), what);
}

// Does not commute: keeps the last one's tens and the first one's units.
static void join(const void *in, void *inout, int length, const MPI::Datatype &type) {
    check(type == MPI::INT, "the operation's type");
    for (int i = 0; i < length; i++) {
        int *to = static_cast<int *>(inout) + i;
        *to = static_cast<const int *>(in)[i] % 10 + *to / 10 * 10;
    }
}

static int copy(const MPI::Comm &, int, void *extra, void *value, void *to, bool &flag) {
    *static_cast<long *>(to) = reinterpret_cast<long>(value) + *static_cast<int *>(extra);
    flag = true;
    return MPI::SUCCESS;
}

static int remove(MPI::Comm &, int, void *, void *extra) {
    ++*static_cast<int *>(extra);
    return MPI::SUCCESS;
}

static void hear(MPI::Comm &comm, int *code, ...) {
    check(comm == MPI::COMM_SELF, "the handler's communicator");
    heard = MPI::Get_error_class(*code);
}

static void hear_more(MPI::Comm &, int *, ...) { heard = -1; }

static void errors() {
    MPI::Errhandler handler = MPI::Comm::Create_errhandler(hear);
    MPI::Errhandler other = MPI::Comm::Create_errhandler(hear_more);
    MPI::COMM_SELF.Set_errhandler(handler);
    int word = 0;
    MPI::COMM_SELF.Send(&word, 1, MPI::INT, 7, 0);
    check(heard == MPI::ERR_RANK, "the error handler heard the error");
    MPI::COMM_SELF.Call_errhandler(MPI::ERR_TAG);
    check(heard == MPI::ERR_TAG, "the error handler was called");
    MPI::COMM_SELF.Set_errhandler(other);
    MPI::COMM_SELF.Call_errhandler(MPI::ERR_TAG);
    check(heard == -1, "the other error handler was called");
    MPI::COMM_SELF.Set_errhandler(MPI::ERRORS_RETURN);
    handler.Free();
    other.Free();
    check(handler == MPI::ERRHANDLER_NULL, "the error handler is freed");
    for (int i = 0; i < 100; i++) {
        MPI::Errhandler again = MPI::Comm::Create_errhandler(hear);
        MPI::COMM_SELF.Set_errhandler(again);
        again.Free();
        heard = 0;
        MPI::COMM_SELF.Call_errhandler(MPI::ERR_COUNT);
        check(heard == MPI::ERR_COUNT, "a handler that is freed stays while it is attached");
    }
    MPI::COMM_SELF.Set_errhandler(MPI::ERRORS_ARE_FATAL);
}

static void attributes() {
    static int extra = 5;
    int key = MPI::Comm::Create_keyval(copy, remove, &extra);
    MPI::Intracomm first = MPI::COMM_WORLD.Dup();
    first.Set_attr(key, reinterpret_cast<void *>(37L));
    MPI::Intracomm second = first.Dup();
    void *value = NULL;
    check(second.Get_attr(key, &value) && value == reinterpret_cast<void *>(42L), "copied");
    second.Free();
    first.Free();
    check(extra == 7, "both were deleted");
    MPI::Comm::Free_keyval(key);
}

int main(int argc, char **argv) {
    MPI::Init(argc, argv);
    int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size();
    char text[32];
    MPI::Status status;
    std::sprintf(text, "from %d", rank);
    MPI::Request request = MPI::COMM_WORLD.Isend(text, 32, MPI::CHAR, (rank + 1) % size, 3);
    char got[32], want[32];
    MPI::COMM_WORLD.Recv(got, 32, MPI::CHAR, MPI::ANY_SOURCE, 3, status);
    request.Wait();
    std::sprintf(want, "from %d", (rank + size - 1) % size);
    check(std::strcmp(got, want) == 0 && status.Get_count(MPI::CHAR) == 32, "the ring");
    check(status.Get_source() == (rank + size - 1) % size, "its source");

    MPI::Op op;
    op.Init(join, false);
    int mine = 10 * (rank + 1) + rank + 1, joined = 0;
    MPI::COMM_WORLD.Allreduce(&mine, &joined, 1, MPI::INT, op);
    check(joined == 10 * size + 1, "an operation that does not commute");
    op.Free();

    MPI::Intracomm half = MPI::COMM_WORLD.Split(rank % 2, -rank);
    check(half.Get_rank() == (size - 1 - rank) / 2, "the order in a half");
    half.Free();
    attributes();
    errors();

    int all = 0;
    MPI::COMM_WORLD.Allreduce(&bad, &all, 1, MPI::INT, MPI::SUM);
    if (rank == 0 && all == 0) std::puts("ok");
    MPI::Finalize();
    return all != 0;
}

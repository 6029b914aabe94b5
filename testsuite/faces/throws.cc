// Exceptions of the C++ bindings of MPI-2, as MPICH and Intel MPI have them in libmpicxx.so.12: the binding asks which
// error handler an object has, and throws if it is the one for that.
#include <mpi.h>
#include <cstdio>

int main(int argc, char **argv) {
    MPI::Init(argc, argv);
    MPI::COMM_SELF.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    int word = 0, caught = 0;
    try {
        MPI::COMM_SELF.Send(&word, 1, MPI::INT, 7, 0);
    } catch (MPI::Exception &thrown) {
        caught = thrown.Get_error_class();
    }
    bool good = caught == MPI::ERR_RANK;
    good = good && MPI::COMM_SELF.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS;
    if (good && MPI::COMM_WORLD.Get_rank() == 0) std::puts("ok");
    MPI::Finalize();
    return good ? 0 : 1;
}

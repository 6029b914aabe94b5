/* Negative strides of ranges, which in some ABIs are numbers that a rank may have a meaning for. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int size, rank, members = -1, stride, bad = 0;
    MPI_Group world, group;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (stride = 1; stride < size; stride++) {
        int range[1][3] = {{size - 1, 0, -stride}};
        int wanted = (size - 1) / stride + 1;
        MPI_Group_range_incl(world, 1, range, &group);
        MPI_Group_size(group, &members);
        bad |= members != wanted;
        MPI_Group_free(&group);
        MPI_Group_range_excl(world, 1, range, &group);
        MPI_Group_size(group, &members);
        bad |= members != size - wanted;
        if (group != MPI_GROUP_EMPTY)
            MPI_Group_free(&group);
    }
    MPI_Group_free(&world);
    MPI_Finalize();
    if (rank == 0 && !bad)
        puts("ok");
    return bad;
}

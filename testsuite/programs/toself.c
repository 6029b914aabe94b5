// ranks: 1 2
// Messages to oneself whose ends have gaps, in every combination and size (MPI-5.0 §3.2.4, §5.1).
#include "check.h"

static const int counts[] = {0, 1, 7, 500, 4000, 60000};

// Two ints of every four, so that nothing lies in one run.
static MPI_Datatype gaps(void) {
    MPI_Datatype pair, type;
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_free(&pair));
    return type;
}

static void message(int pairs, int out_gaps, int in_gaps, int posted, MPI_Datatype type) {
    int step_out = out_gaps ? 4 : 2, step_in = in_gaps ? 4 : 2;
    int *out = malloc((size_t)(4 * pairs + 1) * sizeof(int));
    int *in = malloc((size_t)(4 * pairs + 1) * sizeof(int));
    for (int i = 0; i < 4 * pairs; i++) in[i] = out[i] = -1;
    for (int i = 0; i < pairs; i++)
        for (int k = 0; k < 2; k++) out[i * step_out + k] = 2 * i + k;
    MPI_Request send, receive;
    for (int turn = 0; turn < 2; turn++)
        if (turn == posted)
            OK(MPI_Isend(out, out_gaps ? pairs : 2 * pairs, out_gaps ? type : MPI_INT, rank, 3,
                         MPI_COMM_WORLD, &send));
        else
            OK(MPI_Irecv(in, in_gaps ? pairs : 2 * pairs, in_gaps ? type : MPI_INT, rank, 3,
                         MPI_COMM_WORLD, &receive));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    int wrong = 0;
    for (int i = 0; i < pairs; i++)
        for (int k = 0; k < step_in; k++) wrong += in[i * step_in + k] != (k < 2 ? 2 * i + k : -1);
    CHECK(wrong == 0, "%d pairs, gaps %d to %d, posted %d: %d wrong", pairs, out_gaps, in_gaps,
          posted, wrong);
    free(out);
    free(in);
}

int main(int argc, char **argv) {
    start(&argc, &argv);
    MPI_Datatype type = gaps();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int way = 0; way < 8; way++) message(counts[i], way & 1, way >> 1 & 1, way >> 2, type);
    OK(MPI_Type_free(&type));
    return finish();
}

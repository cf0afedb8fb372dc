// Both ranks send first. If no message is buffered, both wait for ever; if one is, both go on. The first rank decides, then the
// second: its message may be buffered, which is the second execution (with the first one not buffered, the
// message is received after all, and the run stands for another one: discarded), or neither is, a deadlock.
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, other, value = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
#ifdef FIXED
    MPI_Sendrecv(&rank, 1, MPI_INT, other, 0, &value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#else
    MPI_Send(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD); // <-
    MPI_Recv(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
#endif
    MPI_Finalize();
}

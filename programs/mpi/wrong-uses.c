// A correct program, and its wrong variants: ranks that name different roots or make different collective calls, buffers that
// are too small, and others.
#include <mpi.h>
#ifndef WRONG
#define WRONG 0
#endif

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, values[4] = {1, 2, 3, 4};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int odd = rank == 1;
    if (WRONG == 1) {
        MPI_Bcast(values, 4, MPI_INT, odd, MPI_COMM_WORLD); // <-
    } else if (WRONG == 2 && odd) {
        MPI_Barrier(MPI_COMM_WORLD); // <-
    } else if (WRONG == 2) {
        MPI_Bcast(values, 4, MPI_INT, 0, MPI_COMM_WORLD); // <-
    } else if (WRONG == 3 && odd) {
        MPI_Recv(values, 3, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // <-
    } else if (WRONG == 3) {
        MPI_Send(values, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (WRONG == 4 && odd) {
        MPI_Recv(values, 4, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // <-
    } else if (WRONG == 4) {
        MPI_Send(values, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (WRONG == 5) {
        MPI_Send(values, 4, MPI_INT, 2, 0, MPI_COMM_WORLD); // <-
    } else if (WRONG == 6) {
        MPI_Send(values, 4, MPI_INT, 1, -5, MPI_COMM_WORLD); // <-
    } else if (WRONG == 7) {
        int sums[4];
        MPI_Allreduce(values, sums, 4, MPI_INT, odd ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD); // <-
    } else if (WRONG == 8) {
        MPI_Finalize();
        MPI_Barrier(MPI_COMM_WORLD); // <-
    } else if (WRONG == 9) {
        return 0;
    } else {
        MPI_Bcast(values, 4, MPI_INT, 1, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}

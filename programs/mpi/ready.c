// A ready send needs a receive that was posted before. Without the barrier it may come too early.
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, value = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Request request;
    if (rank == 1) MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
#ifdef FIXED
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    if (rank == 0) MPI_Rsend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); // <-
    else MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
}

// Both ranks receive first: a deadlock, whatever is buffered.
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, other, value = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
#ifdef FIXED
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#else
    MPI_Recv(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // <-
    MPI_Send(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
#endif
    MPI_Finalize();
}

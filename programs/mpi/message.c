// One message. Nothing is left open: one execution.
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, value = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    assert(size == 2);
    if (rank == 0) {
        value = 42;
        MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    } else {
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &status);
        int count;
        MPI_Get_count(&status, MPI_INT, &count);
        assert(value == 42 && count == 1 && status.MPI_SOURCE == 0 && status.MPI_TAG == 7);
    }
    MPI_Finalize();
}

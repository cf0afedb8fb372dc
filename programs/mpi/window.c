// One-sided communication is not supported: the rank goes no further, and the search is incomplete.
#include <mpi.h>

int MPI_Win_fence(int, int);

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Win_fence(0, 0);
    MPI_Finalize();
}

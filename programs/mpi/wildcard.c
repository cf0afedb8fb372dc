// In each round rank 0 takes a message of each other rank, from any source. A round has 3! orders with 4 ranks, and a barrier
// follows: 6 executions with one round, 36 with two.
//
// Each receive guesses one of three sources. Of the guesses of a round, six are orders of all three. The others end at the second
// receive, in 3 ways, or at the third, in 12 ways. The ranks whose messages have no receive then, two or one, decide whether their
// sends are buffered: 3 * 4 + 12 * 2 = 36 runs are discarded in one round, and 36 + 6 * 36 = 252 in two. If all
// messages are buffered (--sends eager), it is 3 + 12 = 15 in one round.
#include <assert.h>
#include <mpi.h>
#ifndef ROUNDS
#define ROUNDS 1
#endif

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            int sum = 0;
            for (int from = 1; from < size; from++) {
                int value;
                MPI_Status status;
                MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
                assert(status.MPI_SOURCE == value && status.MPI_TAG == round);
                sum += value;
            }
            assert(sum == size * (size - 1) / 2);
        } else {
            MPI_Send(&rank, 1, MPI_INT, 0, round, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
}

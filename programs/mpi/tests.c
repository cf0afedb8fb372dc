// Loops that test several requests until all are complete.
#include <assert.h>
#include <mpi.h>
#ifndef PART
#define PART 0
#endif

static void poll(MPI_Request *requests) {
    int done = 0, flag = 0, index, found, indices[2];
    while (PART == 0 && done < 2) {
        MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
        done += flag;
    }
    while (PART == 1 && done < 2) {
        MPI_Testsome(2, requests, &found, indices, MPI_STATUSES_IGNORE);
        done += found;
    }
    while (PART == 2 && !flag) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, values[2] = {10, 11};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 0; i < 2; i++) MPI_Send(&values[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD);
    } else {
        int got[2];
        MPI_Request requests[2];
        for (int i = 0; i < 2; i++) MPI_Irecv(&got[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
        poll(requests);
        assert(got[0] == 10 && got[1] == 11);
        assert(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    }
    MPI_Finalize();
}

// Requests: order of messages, wildcards of tags, persistent ones, and waiting for any of several.
//
// MPI_Waitany over two receives returns either first: 2 executions. MPI_Waitsome over two returns the first, the second, or
// both: 3 executions.
#include <assert.h>
#include <mpi.h>
#ifndef PART
#define PART 0
#endif

static int rank;

static void in_order(void) {
    int values[3] = {1, 2, 3}, got[3];
    MPI_Request requests[3];
    MPI_Status statuses[3];
    if (rank == 0) {
        for (int i = 0; i < 3; i++) MPI_Isend(&values[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    } else {
        // The second wants the second message; the others take what is left, in order.
        MPI_Irecv(&got[0], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&got[1], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(&got[2], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]);
        MPI_Waitall(3, requests, statuses);
        assert(got[0] == 1 && got[1] == 3 && got[2] == 2);
        assert(statuses[1].MPI_TAG == 2 && requests[0] == MPI_REQUEST_NULL);
    }
    MPI_Request again;
    for (int i = 0; i < 2; i++) {
        if (i == 0 && rank == 0) MPI_Send_init(values, 3, MPI_INT, 1, 9, MPI_COMM_WORLD, &again);
        if (i == 0 && rank == 1) MPI_Recv_init(got, 3, MPI_INT, 0, 9, MPI_COMM_WORLD, &again);
        values[0] = i;
        MPI_Start(&again);
        MPI_Wait(&again, MPI_STATUS_IGNORE);
        assert(rank == 0 || got[0] == i);
    }
    MPI_Request_free(&again);
    if (rank == 0) {
        MPI_Ssend(values, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        char room[200];
        void *back;
        int bytes;
        MPI_Buffer_attach(room, 200);
        MPI_Bsend(values, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Buffer_detach(&back, &bytes);
        assert(back == room && bytes == 200);
    } else {
        MPI_Status status;
        int count;
        MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        assert(status.MPI_TAG == 1 && count == 1);
        MPI_Recv(got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void any(void) {
    int values[2] = {1, 2}, got[2], index;
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Send(&values[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Send(&values[1], 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        return;
    }
    for (int i = 0; i < 2; i++) MPI_Irecv(&got[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
    if (PART == 1) {
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        assert(got[index] == index + 1);
    } else {
        int found, indices[2];
        MPI_Waitsome(2, requests, &found, indices, MPI_STATUSES_IGNORE);
        for (int i = 0; i < found; i++) assert(got[indices[i]] == indices[i] + 1);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

// A test that is repeated until it succeeds is a wait.
static void polls(void) {
    int value = 3, got = 0, flag = 0;
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        return;
    }
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    assert(got == 3);
    for (flag = 0; !flag;) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (PART == 0) in_order();
    if (PART == 1 || PART == 2) any();
    if (PART == 3) polls();
    MPI_Finalize();
}

// What collective calls return, in 3 ranks. Nothing is left open: one execution.
#include <assert.h>
#include <mpi.h>

static int rank, size;

static void rooted(void) {
    int value = rank == 2 ? 17 : 0;
    MPI_Bcast(&value, 1, MPI_INT, 2, MPI_COMM_WORLD);
    assert(value == 17);
    int own[2] = {10 * rank, 10 * rank + 1}, all[6];
    MPI_Gather(own, 2, MPI_INT, all, 2, MPI_INT, 1, MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < 6; i++) assert(all[i] == 10 * (i / 2) + i % 2);
    int part[2];
    for (int i = 0; i < 6; i++) all[i] = i * i;
    MPI_Scatter(all, 2, MPI_INT, part, 2, MPI_INT, 0, MPI_COMM_WORLD);
    assert(part[0] == 4 * rank * rank && part[1] == (2 * rank + 1) * (2 * rank + 1));
    int counts[3] = {1, 2, 3}, places[3] = {5, 3, 0};
    int mine[3] = {rank, rank, rank}, lists[6];
    MPI_Gatherv(mine, rank + 1, MPI_INT, lists, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < 6; i++) assert(lists[i] == (i < 3 ? 2 : i < 5 ? 1 : 0));
    int taken[3];
    for (int i = 0; i < 6; i++) lists[i] = i;
    MPI_Scatterv(lists, counts, places, MPI_INT, taken, rank + 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i <= rank; i++) assert(taken[i] == places[rank] + i);
}

static void for_all(void) {
    double third = rank + 0.5, values[3];
    MPI_Allgather(&third, 1, MPI_DOUBLE, values, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) assert(values[i] == i + 0.5);
    int inside[3] = {-1, -1, -1};
    inside[rank] = rank;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, inside, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) assert(inside[i] == i);
    int to[3], from[3];
    for (int i = 0; i < 3; i++) to[i] = 10 * rank + i;
    MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) assert(from[i] == 10 * i + rank);
    int counts[3] = {1, 1, 1}, places[3] = {2, 1, 0}, turned[3];
    MPI_Alltoallv(to, counts, places, MPI_INT, turned, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) assert(turned[2 - i] == 10 * i + 2 - rank);
}

static void worst(void *from, void *into, int *length, MPI_Datatype *type) {
    assert(*type == MPI_INT);
    // Not commutative: twice the first and the second.
    for (int i = 0; i < *length; i++) ((int *)into)[i] += 2 * ((int *)from)[i];
}

static void reductions(void) {
    int value[2] = {rank + 1, -rank}, sum[2];
    MPI_Reduce(value, sum, 2, MPI_INT, MPI_SUM, 2, MPI_COMM_WORLD);
    assert(rank != 2 || (sum[0] == 6 && sum[1] == -3));
    MPI_Allreduce(value, sum, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    assert(sum[0] == 3 && sum[1] == 0);
    MPI_Allreduce(MPI_IN_PLACE, value, 2, MPI_INT, MPI_PROD, MPI_COMM_WORLD);
    assert(value[0] == 6 && value[1] == 0);
    unsigned char bits = 1 << rank, all;
    MPI_Allreduce(&bits, &all, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    assert(all == 7);
    struct { double value; int index; } best, own = {rank == 1 ? -2.0 : 1.0, rank};
    MPI_Allreduce(&own, &best, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    assert(best.value == -2.0 && best.index == 1);
    MPI_Allreduce(&own, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    assert(best.value == 1.0 && best.index == 0);
    int before = -1, so_far, one = rank + 1;
    MPI_Scan(&one, &so_far, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    assert(so_far == (rank + 1) * (rank + 2) / 2);
    MPI_Exscan(&one, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    assert(rank == 0 ? before == -1 : before == rank * (rank + 1) / 2);
    MPI_Op op;
    MPI_Op_create(worst, 0, &op);
    MPI_Allreduce(&one, &so_far, 1, MPI_INT, op, MPI_COMM_WORLD);
    assert(so_far == 2 * (2 * 1 + 2) + 3);
    MPI_Op_free(&op);
    int parts[3] = {1, 2, 3}, counts[3] = {1, 1, 1}, part;
    MPI_Reduce_scatter(parts, &part, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    assert(part == 3 * (rank + 1));
    MPI_Reduce_scatter_block(parts, &part, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    assert(part == rank + 1);
}

static void without_waiting(void) {
    MPI_Request requests[3];
    int value = rank == 0 ? 5 : 0, one = 1, sum;
    MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    assert(value == 5 && sum == 3);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    assert(size == 3);
    rooted();
    for_all();
    reductions();
    without_waiting();
    MPI_Finalize();
}

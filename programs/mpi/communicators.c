// Communicators, groups, grids and attributes, in 4 ranks. Nothing is left open: one execution.
#include <assert.h>
#include <mpi.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, result;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm copy, half, pair, grid, line;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_compare(MPI_COMM_WORLD, copy, &result);
    assert(result == MPI_CONGRUENT);

    // A message in one communicator is no message of another one.
    int value = 0, one = 1, two = 2;
    if (rank == 0) {
        MPI_Request request;
        MPI_Isend(&one, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Send(&two, 1, MPI_INT, 1, 0, copy);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE);
        assert(value == 2);
        MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        assert(value == 1);
    }

    // Odd and even ranks, each from the last to the first.
    int place, sum;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &place);
    MPI_Comm_size(half, &size);
    assert(size == 2 && place == (rank < 2));
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    assert(sum == 2 + 2 * (rank % 2));

    MPI_Group all, some, rest;
    int members[2] = {3, 1}, ranks[2] = {0, 1}, translated[2];
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, members, &some);
    MPI_Group_difference(all, some, &rest);
    MPI_Group_size(rest, &size);
    MPI_Group_translate_ranks(some, 2, ranks, all, translated);
    assert(size == 2 && translated[0] == 3 && translated[1] == 1);
    MPI_Comm_create(MPI_COMM_WORLD, some, &pair);
    assert((pair == MPI_COMM_NULL) == (rank % 2 == 0));
    if (pair != MPI_COMM_NULL) {
        MPI_Comm_rank(pair, &place);
        assert(place == (rank == 1));
        MPI_Comm_free(&pair);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    MPI_Group_free(&rest);

    int sizes[2] = {0, 0}, closed[2] = {1, 0}, at[2], from, to, kept[2] = {0, 1};
    MPI_Dims_create(4, 2, sizes);
    assert(sizes[0] == 2 && sizes[1] == 2);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, closed, 0, &grid);
    MPI_Cart_coords(grid, rank, 2, at);
    assert(at[0] == rank / 2 && at[1] == rank % 2);
    MPI_Cart_shift(grid, 0, 1, &from, &to);
    assert(from == (rank + 2) % 4 && to == (rank + 2) % 4);
    MPI_Cart_shift(grid, 1, 1, &from, &to);
    assert(from == (rank % 2 ? rank - 1 : MPI_PROC_NULL) && to == (rank % 2 ? MPI_PROC_NULL : rank + 1));
    MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &value, 1, MPI_INT, from, 0, grid, MPI_STATUS_IGNORE);
    assert(rank % 2 == 0 || value == rank - 1);
    MPI_Cart_sub(grid, kept, &line);
    MPI_Comm_size(line, &size);
    assert(size == 2);

    int *most, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &flag);
    assert(flag && *most >= 32767);
    assert(MPI_Wtime() > -1 && MPI_Wtick() > 0);
    MPI_Comm_free(&line);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&half);
#ifndef LEAK
    MPI_Comm_free(&copy);
#endif
    MPI_Finalize();
}

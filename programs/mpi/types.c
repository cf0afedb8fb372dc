// Derived types and packing, from rank 0 to rank 1. Nothing is left open: one execution.
#include <assert.h>
#include <mpi.h>
#include <stddef.h>

struct particle {
    int id;
    double place[3];
    char kind;
};

static void send_or_receive(void *buffer, MPI_Datatype type, void *into, int rank) {
    if (rank == 0) MPI_Send(buffer, 1, type, 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(into, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, matrix[3][4], copy[3][4] = {{0}};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 12; i++) matrix[i / 4][i % 4] = i;

    MPI_Datatype column, both, rows, record;
    MPI_Type_vector(3, 1, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    send_or_receive(&matrix[0][1], column, &copy[0][2], rank);
    for (int i = 0; rank == 1 && i < 12; i++) assert(copy[i / 4][i % 4] == (i % 4 == 2 ? i - 1 : 0));

    int lengths[2] = {1, 2}, places[2] = {7, 0};
    MPI_Type_indexed(2, lengths, places, MPI_INT, &both);
    MPI_Type_commit(&both);
    int three[3] = {0};
    if (rank == 0) MPI_Send(matrix, 1, both, 1, 1, MPI_COMM_WORLD);
    else MPI_Recv(three, 3, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    assert(rank == 0 || (three[0] == 7 && three[1] == 0 && three[2] == 1));

    MPI_Type_contiguous(4, MPI_INT, &rows);
    MPI_Type_commit(&rows);
    int size;
    MPI_Aint lower, extent;
    MPI_Type_size(rows, &size);
    MPI_Type_get_extent(column, &lower, &extent);
    assert(size == 16 && lower == 0 && extent == 36);

    struct particle particles[2] = {{1, {1, 2, 3}, 'a'}, {2, {4, 5, 6}, 'b'}}, got[2];
    int many[3] = {1, 3, 1};
    MPI_Aint at[3] = {offsetof(struct particle, id), offsetof(struct particle, place), offsetof(struct particle, kind)};
    MPI_Datatype of[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Type_create_struct(3, many, at, of, &record);
    MPI_Type_commit(&record);
    MPI_Type_get_extent(record, &lower, &extent);
    assert(extent == sizeof(struct particle));
    if (rank == 0) MPI_Send(particles, 2, record, 1, 2, MPI_COMM_WORLD);
    else {
        MPI_Status status;
        int count;
        MPI_Recv(got, 2, record, 0, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, record, &count);
        assert(count == 2 && got[1].id == 2 && got[1].place[2] == 6 && got[0].kind == 'a');
    }

    char packed[64];
    int position = 0;
    double half = 0.5;
    if (rank == 0) {
        MPI_Pack(&rank, 1, MPI_INT, packed, 64, &position, MPI_COMM_WORLD);
        MPI_Pack(&half, 1, MPI_DOUBLE, packed, 64, &position, MPI_COMM_WORLD);
        MPI_Send(packed, position, MPI_PACKED, 1, 3, MPI_COMM_WORLD);
    } else {
        int number;
        double value;
        MPI_Recv(packed, 64, MPI_PACKED, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Unpack(packed, 64, &position, &number, 1, MPI_INT, MPI_COMM_WORLD);
        MPI_Unpack(packed, 64, &position, &value, 1, MPI_DOUBLE, MPI_COMM_WORLD);
        assert(number == 0 && value == 0.5);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&both);
    MPI_Type_free(&rows);
#ifndef LEAK
    MPI_Type_free(&record);
#endif
    MPI_Finalize();
}

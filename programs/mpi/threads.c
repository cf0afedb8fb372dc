// Ranks with threads: in each of two, two threads add to a counter. Each rank has two orders, and nothing relates them: 4 executions.
#include <assert.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int count;

static void *add(void *unused) {
    count++;
    return unused;
}

int main(int argc, char **argv) {
    int given, sum;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    assert(given == MPI_THREAD_FUNNELED);
    pthread_t thread;
    pthread_create(&thread, 0, add, 0);
    add(0);
    pthread_join(thread, 0);
    int value = count;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    assert(sum == 4);
    MPI_Finalize();
}

// Each thread writes in one phase what its neighbour reads in the next.
#include <assert.h>
#include <omp.h>

#ifndef N
#define N 3
#endif

int main(void) {
    int value[N] = {0};
#pragma omp parallel num_threads(N)
    {
        int me = omp_get_thread_num();
        for (int round = 1; round <= 2; round++) {
            value[me] = round;
#pragma omp barrier
            assert(value[(me + 1) % N] == round);
#pragma omp barrier
        }
    }
}

// Loops whose iterations go to whoever comes for them: each is done once.
#include <assert.h>
#include <omp.h>

#ifndef N
#define N 3
#endif
#ifndef THREADS
#define THREADS 2
#endif
#ifndef SCHEDULE
#define SCHEDULE dynamic, 1
#endif

int main(void) {
    int done[N] = {0};
    unsigned long down = 0;
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for schedule(SCHEDULE)
        for (int i = N - 1; i >= 0; i--)
            done[i]++;
        // All are done when anybody is through.
        for (int i = 0; i < N; i++)
            assert(done[i] == 1);
    }
#pragma omp parallel for schedule(SCHEDULE) num_threads(1) reduction(+ : down)
    for (unsigned long i = 3 * N; i > 0; i -= 3)
        down += i;
    assert(down == 3 * N * (N + 1) / 2);
}

// A parallel region of two threads: a critical section each, a barrier, and something that only one of them does.
#include <assert.h>
#include <omp.h>

#ifndef THREADS
#define THREADS 2
#endif

int main(void) {
    int entered = 0, named = 0, alone = 0, handed = 0;
    assert(omp_get_num_threads() == 1 && omp_get_thread_num() == 0);
    assert(omp_get_max_threads() == 2 && !omp_in_parallel() && omp_get_level() == 0);
#pragma omp parallel
    {
        assert(omp_get_num_threads() == 2 && omp_get_thread_num() < 2);
        assert(omp_in_parallel() && omp_get_level() == 1 && omp_get_team_size(1) == 2);
#pragma omp critical
        entered++;
#pragma omp barrier
        assert(entered == 2);
#pragma omp single
        alone++;
        assert(alone == 1);
    }
#pragma omp parallel num_threads(THREADS)
    {
        int got;
#pragma omp critical(name)
        named++;
#pragma omp single copyprivate(got)
        got = 7;
        assert(got == 7);
#pragma omp atomic
        handed += got;
    }
    assert(entered == 2 && alone == 1 && named == THREADS && handed == 7 * THREADS);
#pragma omp parallel if (0)
    assert(omp_get_num_threads() == 1);
    omp_set_num_threads(1);
    assert(omp_get_max_threads() == 1);
#pragma omp parallel
    alone++;
    assert(alone == 2);
    return 0;
}

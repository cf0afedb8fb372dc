// Threads keep what is their own from one region to the next; regions inside of others.
#include <assert.h>
#include <omp.h>
#include <pthread.h>

static int own;
#pragma omp threadprivate(own)
static pthread_t self[2];

int main(void) {
    int inner = 0;
    assert(omp_get_max_threads() == 2 && omp_get_num_threads() == 1 && !omp_in_parallel());
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        own = 10 + me;
        self[me] = pthread_self();
        assert(omp_get_num_threads() == 2 && omp_in_parallel() && omp_get_level() == 1);
    }
    own = 20;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        assert(own == (me == 0 ? 20 : 11));
        assert(pthread_equal(self[me], pthread_self()));
#pragma omp parallel
        assert(omp_get_num_threads() == 1 && omp_get_level() == 2 && omp_get_active_level() == 1);
    }
    omp_set_max_active_levels(2);
    omp_set_num_threads(3);
#pragma omp parallel num_threads(2)
#pragma omp parallel if (omp_get_thread_num() == 0)
    {
        int outer = omp_get_ancestor_thread_num(1);
        assert(omp_get_team_size(1) == 2 && omp_get_num_threads() == (outer == 0 ? 3 : 1));
        assert(omp_get_ancestor_thread_num(0) == 0 && omp_get_ancestor_thread_num(3) == -1);
#pragma omp atomic
        inner++;
    }
    assert(inner == 4);
#pragma omp parallel copyin(own)
    assert(own == 20);
}

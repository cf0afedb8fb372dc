// Locks of OpenMP.
#include <assert.h>
#include <omp.h>

int main(void) {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    int count = 0, deep = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    assert(omp_test_lock(&lock));
    assert(!omp_test_lock(&lock));
    omp_unset_lock(&lock);
    assert(omp_test_nest_lock(&nest) == 1);
    assert(omp_test_nest_lock(&nest) == 2);
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
#pragma omp parallel
    {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        deep++;
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    assert(count == 2 && deep == 2);
    omp_destroy_nest_lock(&nest);
    omp_destroy_lock(&lock);
    return 0;
}

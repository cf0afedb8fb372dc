// OpenMP's locks, and their wrong uses.
#include <assert.h>
#include <omp.h>

#ifndef WRONG
#define WRONG 0
#endif

static omp_lock_t first, second;
static omp_nest_lock_t nest;
static int count, nested;

static void deeper(int depth) {
    omp_set_nest_lock(&nest);
    if (depth > 0)
        deeper(depth - 1);
    else
        nested++;
    omp_unset_nest_lock(&nest);
}

int main(void) {
    int tried = 0;
    omp_init_lock(&first);
    omp_init_lock(&second);
    omp_init_nest_lock(&nest);
#pragma omp parallel reduction(+ : tried) // <-
    {
        int me = omp_get_thread_num();
        omp_lock_t *one = WRONG == 1 && me == 1 ? &second : &first;
        omp_lock_t *other = one == &first ? &second : &first;
        omp_set_lock(one);
        omp_set_lock(other); // <-
        count++;
        if (WRONG != 2)
            omp_unset_lock(other);
        omp_unset_lock(one);
        if (WRONG == 3 && me == 1)
            omp_unset_lock(one); // <-
        if (WRONG == 4)
            omp_set_lock(one);
        if (WRONG == 4)
            omp_set_lock(one); // <-
        if (WRONG == 0) {
            deeper(2);
            if (omp_test_nest_lock(&nest)) {
                assert(omp_test_nest_lock(&nest) == 2);
                omp_unset_nest_lock(&nest);
                omp_unset_nest_lock(&nest);
                tried++;
            }
        }
    }
    assert(WRONG != 0 || (count == 2 && nested == 2 && tried >= 1));
    if (WRONG == 5)
        omp_set_lock(&first);
    omp_destroy_lock(&first); // <-
    if (WRONG == 6)
        omp_set_lock(&first); // <-
    if (WRONG != 7)
        omp_destroy_lock(&second);
    omp_destroy_nest_lock(&nest);
}

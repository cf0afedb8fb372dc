// A task that waits for another one keeps a lock that the other one wants.
#include <omp.h>

int main(void) {
    int count = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel
#pragma omp single
    {
        omp_set_lock(&lock);
#pragma omp task shared(count, lock)
        {
            omp_set_lock(&lock); // <-
            count++;
            omp_unset_lock(&lock);
        }
#pragma omp taskwait
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    return count == 0;
}

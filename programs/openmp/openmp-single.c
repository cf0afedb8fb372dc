// What one thread does for all of them, and tells the others.
#include <assert.h>
#include <omp.h>

int main(void) {
    int times = 0;
#pragma omp parallel
    {
        int mine = -1, told;
#pragma omp single copyprivate(told)
        told = omp_get_thread_num();
#pragma omp single
        {
            times++;
            mine = omp_get_thread_num();
        }
        assert(told == 0 || told == 1);
        assert(mine == -1 || mine == omp_get_thread_num());
        assert(times == 1);
#pragma omp master
        assert(omp_get_thread_num() == 0);
    }
}

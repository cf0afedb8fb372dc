// Tasks: those of one task, a group with tasks that have others, and one that is done before anybody leaves a barrier.
#include <assert.h>

#ifndef KIND
#define KIND 0
#endif
#ifdef WRONG
#define WAITS 0
#else
#define WAITS 1
#endif

int main(void) {
    int one = 0, two = 0;
#pragma omp parallel
    {
#if KIND == 0
#pragma omp single nowait
        {
#pragma omp task shared(one)
            one = 1; // <-
#pragma omp task shared(two) if (0)
            two = 1;
#if WAITS
#pragma omp taskwait
#endif
            two += one; // <-
            assert(!WAITS || two == 2);
        }
#elif KIND == 1
#pragma omp master
        {
#pragma omp taskgroup
#pragma omp task shared(one)
#pragma omp task shared(one)
            one = 1;
            assert(one == 1);
        }
#else
#pragma omp master
#pragma omp task shared(one)
        one = 1; // <-
#if WAITS
#pragma omp barrier
        assert(one == 1);
#else
#pragma omp master
        two = one; // <-
#endif
#endif
    }
    return two * 0;
}

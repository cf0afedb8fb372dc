// Tasks that wait for their own: a sum over a tree, and a group of tasks that have others.
#include <assert.h>

#ifndef WRONG
#define WRONG 0
#endif

static int sum(int depth) {
    int left = 0, right = 0;
    if (depth == 0)
        return 1;
#pragma omp task shared(left)
    left = sum(depth - 1); // <-
#pragma omp task shared(right) if (0)
    right = sum(depth - 1);
#if WRONG != 1
#pragma omp taskwait
#endif
    return left + right; // <-
}

int main(void) {
    int total = 0, inner = 0, later = 0;
#pragma omp parallel
#pragma omp single
    total = sum(1);
#if WRONG == 0
    assert(total == 2);
#endif
#pragma omp parallel
    {
#pragma omp single nowait
        {
#pragma omp taskgroup
#pragma omp task shared(inner)
#pragma omp task shared(inner)
            inner = 1;
            assert(inner == 1);
        }
    }
#pragma omp parallel
    {
#pragma omp master
#pragma omp task shared(later)
        later = 1; // <-
#if WRONG != 2
#pragma omp barrier
#endif
        assert(WRONG == 2 || later == 1);
        if (WRONG == 2)
            later++; // <-
    }
}

// Each thread adds up its part of a loop, and the sums are added to one.
#include <assert.h>

#ifndef N
#define N 6
#endif

int main(void) {
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 1; i <= N; i++)
        sum += i;
    assert(sum == N * (N + 1) / 2);
}

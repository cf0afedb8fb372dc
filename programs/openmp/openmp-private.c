// What is private is each thread's own; what is shared by mistake is not.
#include <assert.h>

#ifndef WRONG
#define CLAUSE private(square)
#else
#define CLAUSE shared(square)
#endif

int main(void) {
    int square, result[4];
#pragma omp parallel for CLAUSE
    for (int i = 0; i < 4; i++) {
        square = i * i; // <-
        result[i] = square; // <-
    }
    assert(result[3] == 9);
}

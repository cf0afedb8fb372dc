// Iterations that are done by anybody, but come one after the other in a part.
#include <assert.h>

#ifndef SCHEDULE
#define SCHEDULE dynamic, 1
#endif

int main(void) {
    int next = 0, squares[4];
#pragma omp parallel for ordered schedule(SCHEDULE)
    for (int i = 0; i < 4; i++) {
        squares[i] = i * i;
        if (i != 2) {
#pragma omp ordered
            {
                assert(next == (i == 3 ? 2 : i));
                next++;
            }
        }
    }
    assert(next == 3 && squares[2] == 4);
}

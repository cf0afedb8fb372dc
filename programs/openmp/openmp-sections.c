// Three sections for two threads, once in a region and once as one.
#include <assert.h>

int main(void) {
    int done[6] = {0};
#pragma omp parallel
    {
#pragma omp sections
        {
            done[0]++;
#pragma omp section
            done[1]++;
#pragma omp section
            done[2]++;
        }
        assert(done[0] + done[1] + done[2] == 3);
    }
#pragma omp parallel sections
    {
        done[3]++;
#pragma omp section
        done[4]++;
#pragma omp section
        done[5]++;
    }
    for (int i = 0; i < 6; i++)
        assert(done[i] == 1);
}

// Two critical sections that do not exclude each other.
#include <assert.h>

int main(void) {
    int named = 0, unnamed = 0;
#pragma omp parallel
    {
#pragma omp critical(name)
        named++;
#pragma omp critical
        unnamed++;
    }
    assert(named == 2 && unnamed == 2);
}

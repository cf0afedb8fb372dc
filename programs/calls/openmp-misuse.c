// Wrong uses of OpenMP: a result that is looked at without a barrier, locks that are not initialised, not one's own, or locked twice.
#include <assert.h>
#include <omp.h>

#ifndef WRONG
#define WRONG 0
#endif

static omp_lock_t lock;
static int part[2];

static void no_barrier(void) {
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp for nowait
        for (int i = 0; i < 2; i++) {
            part[i] = 1; // <- race
        }
        sum += part[0] + part[1]; // <- race
    }
}

static void not_initialised(void) {
    omp_set_lock(&lock); // <- uninitialised
}

static void not_mine(void) {
    omp_init_lock(&lock);
    omp_set_lock(&lock);
#pragma omp parallel
    {
        if (omp_get_thread_num() == 1) {
            omp_unset_lock(&lock); // <- not-mine
        }
    }
}

static void twice(void) {
    omp_init_lock(&lock);
    omp_set_lock(&lock);
    omp_set_lock(&lock); // <- twice
}

int main(void) {
    void (*const wrong[])(void) = {no_barrier, not_initialised, not_mine, twice};
    wrong[WRONG]();
    return 0;
}

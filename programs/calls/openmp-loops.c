// Loops and sections whose parts are dealt out: each iteration is done once, whoever does it.
#include <assert.h>

#ifndef KIND
#define KIND 0
#endif

#if KIND == 0
#define SCHEDULE dynamic
#define COUNT 2
#elif KIND == 1
#define SCHEDULE guided
#define COUNT 3
#elif KIND == 2
#define SCHEDULE runtime
#define COUNT 2
#else
#define SCHEDULE static, 1
#define COUNT 3
#endif

static int done[5];

static void loop(void) {
#pragma omp parallel for schedule(SCHEDULE)
    for (int i = 0; i < COUNT; i++) {
        done[i]++;
    }
}

static void down(void) {
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 2) nowait
        for (unsigned long long i = 4; i > 0; i--) {
            done[i]++;
        }
    }
}

static void sections(void) {
#pragma omp parallel sections
    {
#pragma omp section
        done[0]++;
#pragma omp section
        done[1]++;
    }
}

int main(void) {
    int sum = 0;
    if (KIND < 4) {
        loop();
    } else if (KIND == 4) {
        down();
    } else {
        sections();
    }
    for (int i = 0; i < 5; i++) {
        assert(done[i] <= 1);
        sum += done[i];
    }
    assert(sum == (KIND < 4 ? COUNT : KIND == 4 ? 4 : 2));
    return 0;
}

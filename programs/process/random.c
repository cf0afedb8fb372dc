// All threads draw from one stream of random numbers: the first to draw gets the next one.
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>

static int drawn[2];

static void *start(void *number) {
    int *mine = number;
    *mine = rand();
    return 0;
}

int main(void) {
    srand(42);
    reweave_check(rand() == 71876166, "not what libc gives");
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, &drawn[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    int later = drawn[1] == 708592740;
    reweave_check(drawn[!later] == 1483128881, "not the next two numbers");
    reweave_check(drawn[later] == 708592740, "not the next two numbers");
    reweave_check(rand() == 907283241, "not the number after those");
#ifdef ORDER
    reweave_check(!later, "the second thread was first"); // <- assertion
#endif
}

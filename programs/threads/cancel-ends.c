// Threads that do nothing, in a program that could cancel them: their ends have nothing to do with each other.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_t threads[3];

static void *nothing(void *argument) {
    return argument;
}

int main(int count, char **words) {
    (void)words;
    for (int i = 0; i < 3; i++) {
        assert(pthread_create(&threads[i], NULL, nothing, NULL) == 0);
    }
    if (count > 1) {
        pthread_cancel(threads[0]);
    }
    for (int i = 0; i < 3; i++) {
        assert(pthread_join(threads[i], NULL) == 0);
    }
    return 0;
}

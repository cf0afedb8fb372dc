// A hand-made barrier that counts down and is filled up again by the last: used a second time, a slow thread finds the new count and
// waits in the old round while the others wait for it in the new one.
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static int missing = N;

static void arrive(void) {
    pthread_mutex_lock(&lock);
    if (--missing == 0) {
        missing = N;
        pthread_cond_broadcast(&all_here);
    } else {
        while (missing != N)
            pthread_cond_wait(&all_here, &lock); // <- one of them in the round before
    }
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    (void)arg;
    arrive();
    arrive();
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL); // <-
    return 0;
}

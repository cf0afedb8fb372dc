// barrier-reuse.c put right: a round has a number, and who waits, waits for its round to be over.
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static int missing = N;
static int current;

static void arrive(void) {
    pthread_mutex_lock(&lock);
    int mine = current;
    if (--missing == 0) {
        missing = N;
        current++;
        pthread_cond_broadcast(&all_here);
    } else {
        while (current == mine)
            pthread_cond_wait(&all_here, &lock);
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
        pthread_join(threads[i], NULL);
    return 0;
}

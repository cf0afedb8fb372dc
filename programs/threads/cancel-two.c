// Of two threads that wait one is cancelled. It takes no signal away from the other one.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int tokens;

static void unlock(void *argument) {
    (void)argument;
    pthread_mutex_unlock(&mutex);
}

static void *taker(void *argument) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, NULL);
    while (tokens == 0) {
        pthread_cond_wait(&condition, &mutex);
    }
    tokens--;
    pthread_cleanup_pop(1);
    return argument;
}

int main(void) {
    pthread_t thread[2];
    void *result;
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread[i], NULL, taker, NULL);
    }
    pthread_cancel(thread[0]);
    pthread_join(thread[0], &result);
    pthread_mutex_lock(&mutex);
    tokens++;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread[1], NULL);
    assert(result == PTHREAD_CANCELED);
    assert(tokens == 0);
    return 0;
}

// A condition variable may be destroyed as soon as all who wait on it were woken, though they have not gone on yet.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t *changed;
static int ready;

static void *await(void *unused) {
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_wait(changed, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    changed = malloc(sizeof *changed);
    assert(pthread_cond_init(changed, NULL) == 0);
    pthread_create(&thread, NULL, await, NULL);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_broadcast(changed);
    pthread_mutex_unlock(&lock);
    assert(pthread_cond_destroy(changed) == 0);
    free(changed);
    pthread_join(thread, NULL);
    return 0;
}

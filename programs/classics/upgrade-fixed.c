// upgrade.c put right: one may be waiting to become a writer; who comes second gives up its reading and begins again.
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static int readers;
static bool upgrading;
static int value;

static bool try_upgrade(void) {
    if (upgrading)
        return false;
    upgrading = true;
    while (readers > 1)
        pthread_cond_wait(&left, &lock);
    value++;
    upgrading = false;
    return true;
}

static void *read_then_write(void *arg) {
    (void)arg;
    for (bool done = false; !done;) {
        pthread_mutex_lock(&lock);
        while (upgrading)
            pthread_cond_wait(&left, &lock);
        readers++;
        pthread_mutex_unlock(&lock);

        pthread_mutex_lock(&lock);
        done = try_upgrade();
        readers--;
        pthread_cond_broadcast(&left);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, read_then_write, NULL);
    pthread_create(&b, NULL, read_then_write, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(value == 2);
    return 0;
}

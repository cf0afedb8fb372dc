// relock.c put right: the inner function leaves locking to its callers.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value, changes;

static void count_change(void) { changes++; }

static void *change(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (value == 1)
        count_change();
    value = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, change, NULL);
    pthread_create(&b, NULL, change, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(changes == 1);
    return 0;
}

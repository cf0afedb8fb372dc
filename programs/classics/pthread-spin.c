// The library's spin lock, with lock and trylock.
#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static pthread_spinlock_t lock;
static int entries, refused;

static void *enter(void *arg) {
    (void)arg;
    pthread_spin_lock(&lock);
    entries++;
    pthread_spin_unlock(&lock);
    return NULL;
}

static void *try_to_enter(void *arg) {
    (void)arg;
    int result = pthread_spin_trylock(&lock);
    if (result == 0) {
        entries++;
        pthread_spin_unlock(&lock);
    } else {
        assert(result == EBUSY);
        refused++;
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&a, NULL, enter, NULL);
    pthread_create(&b, NULL, try_to_enter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(entries + refused == 2);
    pthread_spin_destroy(&lock);
    return 0;
}

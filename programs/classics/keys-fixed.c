// Thread-specific data: every thread has a buffer of its own under one key, and its destructor gives it back when the thread ends,
// by return or by pthread_exit. A destructor that sets a key again is called again.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static pthread_key_t key, again;
static atomic_int freed, rounds;

static void give_back(void *buffer) {
    free(buffer);
    atomic_fetch_add(&freed, 1);
}

static void once_more(void *left) {
    atomic_fetch_add(&rounds, 1);
    int *times = left;
    if (--*times > 0)
        pthread_setspecific(again, times);
}

static void *work(void *arg) {
    int *mine = malloc(sizeof *mine);
    *mine = arg != NULL;
    pthread_setspecific(key, mine);
    assert(pthread_getspecific(key) == mine);
    assert(pthread_getspecific(again) == NULL);
    pthread_setspecific(again, arg);
    if (arg != NULL)
        pthread_exit(NULL);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    int twice = 2;
    pthread_key_create(&key, give_back);
    pthread_key_create(&again, once_more);
    assert(pthread_getspecific(key) == NULL);
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, &twice);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(atomic_load(&freed) == 2);
    assert(atomic_load(&rounds) == 2);
    assert(twice == 0);
    pthread_key_delete(again);
    pthread_key_delete(key);
    return 0;
}

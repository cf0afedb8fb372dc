// A destructor that stores a value again is called again, four times in all.
#include <pthread.h>
#include <reweave.h>

static pthread_key_t key, other;
static int calls;

static void again(void *value) {
    calls++;
    pthread_setspecific(key, value);
}

static void never(void *value) { reweave_check(value == 0, "a deleted key has a destructor"); }

static void *start(void *unused) {
    reweave_check(pthread_getspecific(key) == 0, "a value is left of another thread");
    pthread_setspecific(key, &key);
    pthread_setspecific(other, &other);
    pthread_key_delete(other);
    return unused;
}

int main(void) {
    pthread_key_create(&key, again);
    pthread_key_create(&other, never);
    pthread_t thread;
    pthread_setspecific(key, &calls);
    pthread_create(&thread, 0, start, 0);
    pthread_join(thread, 0);
    reweave_check(calls == 4, "another number of rounds");
}

// A key is deleted while a thread that keeps something under it comes to its end: its destructor runs or it does not. Names of threads are anybody's to change.
#define _GNU_SOURCE
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <string.h>

static pthread_key_t key;
static _Atomic int destroyed;
static char value;

static void destroy(void *unused) {
    (void)unused;
    destroyed++;
}

static void *start(void *unused) {
#ifdef NAMED
    char name[16];
    pthread_setname_np(pthread_self(), "own");
    pthread_getname_np(pthread_self(), name, sizeof name);
    reweave_check(strcmp(name, "own") == 0, "it has another name"); // <-
#else
    if (pthread_setspecific(key, &value) != 0)
        reweave_check(pthread_getspecific(key) == 0, "a key that is gone has a value");
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_key_create(&key, destroy);
    pthread_create(&thread, 0, start, 0);
#ifdef NAMED
    pthread_setname_np(thread, "given");
#else
    pthread_key_delete(key);
#endif
    pthread_join(thread, 0);
#ifdef ALWAYS
    reweave_check(destroyed == 1, "it was not destroyed"); // <-
#endif
}

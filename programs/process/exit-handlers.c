// What is called at the end of the process, in reverse order of registration, by the thread that ends it; after that the destructors
// of the program itself.
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>

static int calls;
static pthread_t ending;

static void at(int place) {
    reweave_check(calls == place, "handlers are called in the wrong order");
    reweave_check(pthread_equal(pthread_self(), ending), "handlers are called by another thread");
    calls++;
}

static void fourth(void) { at(3); }
static void third(void) { at(2); }
static void second(int status, void *argument) {
    at(1);
    reweave_check(status == 0 && argument == &calls, "a handler gets the wrong arguments");
    atexit(third);
}
static void first(void) { at(0); }

__attribute__((constructor)) static void before_main(void) { atexit(fourth); }
__attribute__((destructor)) static void last(void) { at(4); }

static void *start(void *unused) {
    ending = pthread_self();
    on_exit(second, &calls);
    atexit(first);
    exit(0);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    pthread_join(thread, 0);
}

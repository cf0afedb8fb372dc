// Names of threads.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <reweave.h>
#include <string.h>

static void *start(void *unused) {
    char name[16];
    pthread_setname_np(pthread_self(), "worker");
    pthread_getname_np(pthread_self(), name, sizeof name);
    reweave_check(strcmp(name, "worker") == 0, "a thread has another name");
    reweave_check(pthread_setname_np(pthread_self(), "far too long a name") == ERANGE, "a long name");
    reweave_check(pthread_getname_np(pthread_self(), name, 4) == ERANGE, "a short buffer");
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    pthread_join(thread, 0);
}

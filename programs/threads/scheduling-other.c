// Where another thread says how one is scheduled, what that one is told depends on who came first.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>

static void *start(void *unused) {
    cpu_set_t set;
    assert(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0);
    assert(CPU_COUNT(&set) == 1); /* <- */
    return unused;
}

int main(void) {
    pthread_t thread;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    pthread_create(&thread, 0, start, 0);
    pthread_setaffinity_np(thread, sizeof set, &set);
    pthread_join(thread, 0);
}

// Attributes that are not supported: a stack of the program's own, a larger one than there is, a priority ceiling.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

static void *nothing(void *argument) {
    return argument;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_mutexattr_t kind;
    pthread_mutex_t mutex;
    pthread_t thread;
    size_t bytes = 1 << 20;
    void *stack = aligned_alloc(4096, bytes);
    pthread_attr_init(&attributes);
    pthread_mutexattr_init(&kind);
    switch (WAY) {
    case 1:
        pthread_attr_setstacksize(&attributes, 64 << 20);
        break;
    case 2:
        pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_PROTECT);
        pthread_mutex_init(&mutex, &kind);
        break;
    case 4:
        pthread_setattr_default_np(&attributes);
        break;
    default:
        pthread_attr_setstack(&attributes, stack, bytes);
    }
    pthread_create(&thread, &attributes, nothing, NULL);
    pthread_join(thread, NULL);
}

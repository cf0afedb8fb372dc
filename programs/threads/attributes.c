// Attributes come back as they were set, and wrong ones are refused. What they ask of scheduling is what the thread answers.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#ifndef SHARED
#define SHARED 0
#endif

static void *nothing(void *argument) {
    return argument;
}

static void threads(void) {
    pthread_attr_t attributes;
    struct sched_param scheduling = {.sched_priority = 10};
    pthread_t thread;
    size_t bytes;
    int value;
    assert(pthread_attr_init(&attributes) == 0);
    assert(pthread_attr_setstacksize(&attributes, 1) == EINVAL);
    assert(pthread_attr_setstacksize(&attributes, 1 << 20) == 0);
    assert(pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes == 1 << 20);
    assert(pthread_attr_setguardsize(&attributes, 8192) == 0);
    assert(pthread_attr_getguardsize(&attributes, &bytes) == 0 && bytes == 8192);
    assert(pthread_attr_setdetachstate(&attributes, 99) == EINVAL);
    assert(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
    assert(pthread_attr_getdetachstate(&attributes, &value) == 0);
    assert(value == PTHREAD_CREATE_DETACHED);
    assert(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_JOINABLE) == 0);
    assert(pthread_attr_setschedpolicy(&attributes, SCHED_FIFO) == 0);
    assert(pthread_attr_setschedparam(&attributes, &scheduling) == 0);
    scheduling.sched_priority = 0;
    assert(pthread_attr_getschedparam(&attributes, &scheduling) == 0);
    assert(scheduling.sched_priority == 10);
    assert(pthread_attr_setscope(&attributes, PTHREAD_SCOPE_SYSTEM) == 0);
    assert(pthread_create(&thread, &attributes, nothing, NULL) == 0);
    assert(pthread_join(thread, NULL) == 0);
    assert(pthread_attr_destroy(&attributes) == 0);
}

static void use(pthread_mutexattr_t *attributes) {
    pthread_mutex_t mutex;
    assert(pthread_mutex_init(&mutex, attributes) == 0);
    assert(pthread_mutex_lock(&mutex) == 0);
    assert(pthread_mutex_trylock(&mutex) == EBUSY);
    assert(pthread_mutex_unlock(&mutex) == 0);
    assert(pthread_mutex_destroy(&mutex) == 0);
}

static void mutexes(void) {
    pthread_mutexattr_t attributes;
    int value;
    assert(pthread_mutexattr_init(&attributes) == 0);
    assert(pthread_mutexattr_settype(&attributes, 77) == EINVAL);
    assert(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0);
    assert(pthread_mutexattr_getprotocol(&attributes, &value) == 0);
    assert(value == PTHREAD_PRIO_INHERIT);
    use(&attributes);
    assert(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_NONE) == 0);
    assert(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP) == 0);
    use(&attributes);
    if (SHARED) {
        assert(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
    }
    assert(pthread_mutexattr_destroy(&attributes) == 0);
}

int main(void) {
    threads();
    mutexes();
    return 0;
}

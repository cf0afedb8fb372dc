// What a thread is created with is what it is: policy, priority, processors, mask, size of the stack.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>

struct answers {
    int policy, priority, processors, blocked;
    size_t bytes, guard;
};

static void *ask(void *into) {
    struct answers *answers = into;
    struct sched_param parameters;
    pthread_getschedparam(pthread_self(), &answers->policy, &parameters);
    answers->priority = parameters.sched_priority;
    cpu_set_t set;
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
    answers->processors = CPU_COUNT(&set);
    sigset_t mask;
    pthread_sigmask(0, NULL, &mask);
    answers->blocked = sigismember(&mask, SIGUSR1);
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void *stack;
    pthread_attr_getstack(&attributes, &stack, &answers->bytes);
    pthread_attr_getguardsize(&attributes, &answers->guard);
    int policy;
    pthread_attr_getschedpolicy(&attributes, &policy);
    pthread_attr_getschedparam(&attributes, &parameters);
    assert(policy == answers->policy && parameters.sched_priority == answers->priority);
    // The stack is where it is said to be.
    assert((char *)stack < (char *)&mask && (char *)&mask < (char *)stack + answers->bytes);
    pthread_attr_destroy(&attributes);
    return NULL;
}

// Creates a thread; the error number, if there is none.
static int create(pthread_attr_t *attributes, struct answers *answers) {
    pthread_t thread;
    int error = pthread_create(&thread, attributes, ask, answers);
    if (!error)
        pthread_join(thread, NULL);
    pthread_attr_destroy(attributes);
    pthread_attr_init(attributes);
    return error;
}

int main(void) {
    struct answers a;
    pthread_attr_t attributes;
    struct sched_param parameters = {.sched_priority = 10};
    pthread_attr_init(&attributes);
    assert(pthread_attr_setschedparam(&attributes, &parameters) == EINVAL);
    assert(create(&attributes, &a) == 0 && a.policy == SCHED_OTHER && a.priority == 0);
    assert(!a.blocked);
    int all = a.processors;

    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameters);
    assert(create(&attributes, &a) == 0 && a.policy == SCHED_OTHER);

    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &parameters);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    assert(create(&attributes, &a) == 0 && a.policy == SCHED_FIFO && a.priority == 10);

    // The creator's priority does not fit.
    pthread_attr_setschedpolicy(&attributes, SCHED_RR);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    assert(create(&attributes, &a) == EINVAL);

    pthread_attr_setstacksize(&attributes, 1 << 18);
    pthread_attr_setguardsize(&attributes, 8192);
    assert(create(&attributes, &a) == 0 && a.bytes == 1 << 18 && a.guard == 8192);

    cpu_set_t set;
    CPU_ZERO(&set);
    pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    assert(create(&attributes, &a) == EINVAL);
    CPU_SET(0, &set);
    pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    assert(create(&attributes, &a) == 0 && a.processors == 1 && all >= 1);

    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_attr_setsigmask_np(&attributes, &mask);
    assert(create(&attributes, &a) == 0 && a.blocked);
    pthread_attr_destroy(&attributes);
}

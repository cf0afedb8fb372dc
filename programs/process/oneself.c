// What a thread does to itself: jumps, signals, an alternate stack, and what it can learn of itself.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

static __thread jmp_buf place;
static __thread sigjmp_buf signal_place;
static __thread volatile int caught;

static void deeper(void) {
    longjmp(place, 7);
}

static void deep(void) {
    deeper();
}

static void jumps(void) {
    int result = setjmp(place);
    if (result == 0) {
        deep();
    }
    assert(result == 7);
}

static void catch_it(int number) {
    assert(number == SIGUSR1);
    caught++;
}

static void jump_out(int number) {
    assert(number == SIGUSR2);
    siglongjmp(signal_place, 5);
}

static void signals(void) {
    sigset_t set, before;
    signal(SIGUSR1, catch_it);
    signal(SIGUSR2, jump_out);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert(pthread_sigmask(SIG_BLOCK, &set, &before) == 0);
    assert(raise(SIGUSR1) == 0 && caught == 0);
    assert(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0 && caught == 1);
    assert(pthread_kill(pthread_self(), SIGUSR1) == 0 && caught == 2);
    if (sigsetjmp(signal_place, 1) == 0) {
        raise(SIGUSR2);
        assert(0);
    }
    assert(pthread_sigmask(SIG_BLOCK, NULL, &set) == 0);
    assert(!sigismember(&set, SIGUSR2));
}

static void stacks(void) {
    static __thread char memory[1 << 16];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    stack_t answer;
    assert(sigaltstack(&stack, NULL) == 0);
    assert(sigaltstack(NULL, &answer) == 0);
    assert(answer.ss_sp == memory && answer.ss_size == sizeof memory && answer.ss_flags == 0);
    stack.ss_flags = SS_DISABLE;
    assert(sigaltstack(&stack, NULL) == 0);
    assert(sigaltstack(NULL, &answer) == 0 && answer.ss_flags == SS_DISABLE);
}

static void questions(void) {
    pthread_attr_t attributes;
    void *stack;
    size_t bytes;
    clockid_t clock;
    struct timespec now;
    char name[16];
    assert(pthread_getattr_np(pthread_self(), &attributes) == 0);
    assert(pthread_attr_getstack(&attributes, &stack, &bytes) == 0);
    assert((char *)stack <= name && name < (char *)stack + bytes);
    assert(pthread_attr_destroy(&attributes) == 0);
    assert(pthread_getcpuclockid(pthread_self(), &clock) == 0);
    assert(clock_gettime(clock, &now) == 0);
    assert(pthread_setname_np(pthread_self(), "worker") == 0);
    assert(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
    assert(strcmp(name, "worker") == 0);
}

static void *worker(void *argument) {
    jumps();
    signals();
    stacks();
    questions();
    return argument;
}

static void before_fork(void) {
    assert(0);
}

int main(void) {
    pthread_t thread[2];
    assert(pthread_atfork(before_fork, NULL, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        assert(pthread_create(&thread[i], NULL, worker, NULL) == 0);
    }
    for (int i = 0; i < 2; i++) {
        assert(pthread_join(thread[i], NULL) == 0);
    }
    return 0;
}

// System calls without the C library: those that are known work, and `fork` is refused.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static long raw(long number) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
    return result;
}

static void *worker(void *unused) {
    assert(raw(SYS_getpid) == getpid());
#ifdef FORK
    if (raw(SYS_fork) == 0)
        for (;;)
            pause();
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    return 0;
}

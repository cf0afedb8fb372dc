/* A thread that ends the process, or tries to, in one of many ways (-DHOW), beside one that counts. Both orders of the two are explored,
 * whatever becomes of the process: two executions. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static atomic_int turns;

/* System calls that no library sees. */
static inline long direct(long number, long first, long second) {
    long answer;
    __asm__ volatile("syscall" : "=a"(answer) : "a"(number), "D"(first), "S"(second) : "rcx", "r11", "memory");
    return answer;
}

static inline int deeper(volatile char *above) {
    volatile char here[4096];
    here[0] = above[0];
    return deeper(here) + here[0];
}

static inline void block_all(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}

/* Writes to everything that can be written to. */
static inline void write_everywhere(void) {
    FILE *list = fopen("/proc/self/maps", "r");
    char line[512], access[8];
    unsigned long start, end;
    while (fgets(line, sizeof line, list))
        if (sscanf(line, "%lx-%lx %7s", &start, &end, access) == 3 && access[1] == 'w')
            for (; start < end; start++)
                *(volatile char *)start = 0x55;
}

static inline void use_memory(size_t piece) {
    void *block;
    while ((block = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED)
        memset(block, 1, 4096);
}

static inline void limit(int resource, rlim_t most) {
    struct rlimit limit = {most, most};
    setrlimit(resource, &limit);
}

static inline void become_another(void) {
    execl("/bin/true", "true", NULL);
}

static inline void redirect(void) {
    freopen("/dev/null", "w", stdout);
    dup2(0, 2);
    dup2(0, 900);
    printf("x");
}

static inline void print(size_t bytes) {
    static char text[1 << 16];
    memset(text, 'x', sizeof text);
    for (; bytes > sizeof text; bytes -= sizeof text)
        if (write(1, text, sizeof text) != sizeof text)
            abort();
}

static void *ends(void *unused) {
    (void)unused;
    atomic_fetch_add(&turns, 1); /* <- the last that is seen of it */
    HOW; /* <- */
    return NULL;
}

static void *counts(void *unused) {
    (void)unused;
    atomic_fetch_add(&turns, 1);
    return NULL;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, ends, NULL);
    pthread_create(&other, NULL, counts, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}

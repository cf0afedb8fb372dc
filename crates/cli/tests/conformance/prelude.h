// What every generated program starts with. With NATIVE it runs itself many times, with delays, and prints every outcome. Otherwise it
// runs once: with an argument it fails if the outcome is the argument, without one it fails at a place that depends on the outcome.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

// What the calls of each thread returned. A thread writes its own row only.
static int rows[8][64], used[8];
// The contents of a file.
static char text[1024];
static int length;
static char outcome[8192];

#ifdef NATIVE
static __thread unsigned long noise;
static unsigned long round_seed;
static void delay(void) {
    if (!noise) noise = round_seed * 0x9e3779b97f4a7c15 ^ (unsigned long)&noise;
    noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
    unsigned kind = noise >> 20 & 63, much = noise >> 32 & 1023;
    if (round_seed % 4 == 0 || kind < 24) return;
    if (kind < 40) for (volatile unsigned i = 0; i < much / 4; i++);
    else if (kind < 56) sched_yield();
    else if (kind < 60) for (volatile unsigned i = 0; i < much * 8; i++);
    else if (round_seed % 4 == 1) {
        struct timespec t = {0, much * 32};
        // By its number: the function is a cancellation point.
        syscall(SYS_nanosleep, &t, 0);
    }
}
#else
static void delay(void) {}
#endif

#define REC(v) do { delay(); int value_ = (int)(v); rows[me][used[me]++] = value_; } while (0)
#define DO(call) do { delay(); (void)(call); } while (0)
#define EXPECT(zero) do { if (zero) { fprintf(stderr, "line %d: %s\n", __LINE__, #zero); abort(); } } while (0)

static __thread struct timespec due;
__attribute__((unused)) static struct timespec *deadline(clockid_t clock, long ns) {
    due.tv_sec = 1, due.tv_nsec = 0;
    if (ns) {
        clock_gettime(clock, &due);
        due.tv_sec += ns / 1000000000, due.tv_nsec += ns % 1000000000;
        if (due.tv_nsec >= 1000000000) due.tv_sec++, due.tv_nsec -= 1000000000;
    }
    return &due;
}

__attribute__((unused)) static void init_mutex(pthread_mutex_t *m, int kind, int robust, int protocol) {
    pthread_mutexattr_t a;
    EXPECT(pthread_mutexattr_init(&a));
    EXPECT(pthread_mutexattr_settype(&a, kind));
    EXPECT(pthread_mutexattr_setrobust(&a, robust));
    EXPECT(pthread_mutexattr_setprotocol(&a, protocol));
    EXPECT(pthread_mutex_init(m, &a));
    EXPECT(pthread_mutexattr_destroy(&a));
}

__attribute__((unused)) static void init_cond(pthread_cond_t *c, clockid_t clock) {
    pthread_condattr_t a;
    EXPECT(pthread_condattr_init(&a));
    EXPECT(pthread_condattr_setclock(&a, clock));
    EXPECT(pthread_cond_init(c, &a));
    EXPECT(pthread_condattr_destroy(&a));
}

static void describe(void) {
    int at = 0;
    for (int row = 0; row < 8; row++) {
        for (int i = 0; i < used[row]; i++)
            at += snprintf(outcome + at, sizeof outcome - at, i ? ",%d" : "%d", rows[row][i]);
        at += snprintf(outcome + at, sizeof outcome - at, "/");
    }
    snprintf(outcome + at, sizeof outcome - at, "%s", text);
}

static void round_once(void);

#ifdef NATIVE
int main(int argc, char **argv) {
    unsigned long first = strtoul(argv[1], 0, 10), rounds = strtoul(argv[2], 0, 10);
    if (argc > 3) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof one, &one);
    }
    // On a busy machine there are fewer rounds.
    time_t end = time(0) + 8;
    for (round_seed = first; round_seed < first + rounds && time(0) < end; round_seed++) {
        noise = 0, length = 0, text[0] = 0;
        memset(used, 0, sizeof used);
        round_once();
        describe();
        puts(outcome);
        if (fflush(stdout)) return 1;
    }
}
#else
static void told(unsigned bucket);
int main(int argc, char **argv) {
    round_once();
    describe();
    if (argc > 1) {
        assert(strcmp(outcome, argv[1]));
        return 0;
    }
    unsigned hash = SALT;
    for (char *c = outcome; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619;
    told(hash >> 13 & 127);
}
#endif

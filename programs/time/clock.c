// Time passes where a thread sleeps, and for those who know of it.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int slept;

static double now(clockid_t clock) {
    struct timespec time;
    assert(clock_gettime(clock, &time) == 0);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double begun;

static void *rest(void *unused) {
    struct timespec three = {.tv_sec = 3}, never = {.tv_nsec = -1};
    sleep(1);
    usleep(500000);
    assert(nanosleep(&three, NULL) == 0);
    assert(nanosleep(&never, NULL) == -1 && errno == EINVAL);
    assert(clock_nanosleep(CLOCK_MONOTONIC, 0, &three, NULL) == 0);
    assert(clock_nanosleep(CLOCK_MONOTONIC, 0, &never, NULL) == EINVAL);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 2;
    assert(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
    pthread_mutex_lock(&lock);
    atomic_store(&slept, 1);
    pthread_mutex_unlock(&lock);
    // 1 + 0.5 + 3 + 3 + 2
    assert(now(CLOCK_MONOTONIC) - begun >= 9.5);
    sleep(10);
    return unused;
}

static void *look(void *unused) {
    pthread_mutex_lock(&lock);
    double passed = now(CLOCK_MONOTONIC) - begun;
    // Whoever knows that the other has slept cannot be earlier.
    if (atomic_load(&slept))
        assert(passed >= 9.5);
    pthread_mutex_unlock(&lock);
    sched_yield();
    return unused;
}

int main(void) {
    pthread_t one, two;
    struct timeval day;
    struct timespec other, fine;
    begun = now(CLOCK_MONOTONIC);
    // All clocks of the day agree, and it is this century.
    time_t day_seconds = time(NULL);
    assert(gettimeofday(&day, NULL) == 0 && timespec_get(&other, TIME_UTC) == TIME_UTC);
    assert(day.tv_sec - day_seconds <= 1 && other.tv_sec - day.tv_sec <= 1);
    assert(now(CLOCK_REALTIME) - (double)day_seconds < 2 && day_seconds > 1700000000);
    assert(clock_getres(CLOCK_MONOTONIC, &fine) == 0 && fine.tv_nsec > 0);
    assert(clock_gettime(99, &fine) == -1 && errno == EINVAL);
    clock_t used = clock();
    // A loop until some time ends.
    while (now(CLOCK_MONOTONIC) - begun < 0.05) {
    }
    assert(clock() > used);
    pthread_create(&one, NULL, rest, NULL);
    pthread_create(&two, NULL, look, NULL);
    pthread_join(two, NULL);
    pthread_join(one, NULL);
    assert(now(CLOCK_MONOTONIC) - begun >= 19.5);
    return 0;
}

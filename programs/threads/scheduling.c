// What a program says about scheduling has no effect, and is there when it asks; what it used up is virtual time. (Where it has no privileges: niceness only grows.)
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static void same(int policy, int priority) {
    struct sched_param found;
    int now;
    assert(pthread_getschedparam(pthread_self(), &now, &found) == 0);
    assert(now == policy && found.sched_priority == priority);
    assert(sched_getscheduler(0) == policy && sched_getparam(0, &found) == 0 && found.sched_priority == priority);
}

static void *start(void *unused) {
    const struct sched_param none = {.sched_priority = 0}, some = {.sched_priority = 5};
    cpu_set_t set;
    // As whoever created it was.
    same(SCHED_OTHER, 0);
    assert(nice(0) == 1);
    assert(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0);
    assert(CPU_COUNT(&set) == 1 && CPU_ISSET(1, &set));
    assert(pthread_setschedparam(pthread_self(), SCHED_FIFO, &none) == EINVAL);
    assert(pthread_setschedparam(pthread_self(), SCHED_FIFO, &some) == 0);
    same(SCHED_FIFO, 5);
    assert(pthread_setschedprio(pthread_self(), 7) == 0);
    same(SCHED_FIFO, 7);
    errno = 0;
    assert(nice(2) == 3 && getpriority(PRIO_PROCESS, 0) == 3 && errno == 0);
    assert(nice(-1) == -1 && errno == EPERM);
    assert(setpriority(PRIO_PROCESS, gettid(), 2) == -1 && errno == EACCES);
    CPU_ZERO(&set);
    assert(sched_setaffinity(0, sizeof set, &set) == -1 && errno == EINVAL);
    CPU_SET(0, &set);
    assert(sched_setaffinity(0, sizeof set, &set) == 0);
    CPU_ZERO(&set);
    assert(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_ISSET(0, &set) && !CPU_ISSET(1, &set));
    return unused;
}

int main(void) {
    pthread_t threads[2];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(1, &set);
    assert(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0 && nice(1) == 1);
    assert(sched_setaffinity(1, sizeof set, &set) == -1 && errno == ESRCH);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(getpriority(PRIO_PROCESS, 0) == 1);
    same(SCHED_OTHER, 0);

    struct rusage used;
    struct tms times_used;
    struct sysinfo machine;
    clockid_t clock;
    struct timespec now;
    assert(sleep(3) == 0);
    assert(getrusage(RUSAGE_SELF, &used) == 0 && used.ru_utime.tv_sec == 3 && used.ru_maxrss == 0);
    assert(getrusage(RUSAGE_CHILDREN, &used) == 0 && used.ru_utime.tv_sec == 0);
    assert(getrusage(17, &used) == -1 && errno == EINVAL);
    assert(times(&times_used) >= 300 && times_used.tms_utime >= 300 && times_used.tms_stime == 0);
    assert(sysinfo(&machine) == 0 && machine.procs == 1 && machine.uptime == 3);
    assert(clock_getcpuclockid(0, &clock) == 0 && clock_gettime(clock, &now) == 0 && now.tv_sec == 3);
    assert(clock_getcpuclockid(1, &clock) == ESRCH);
}

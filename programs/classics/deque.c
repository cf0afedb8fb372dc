// A small work-stealing deque (Chase and Lev) whose owner takes the last element without the exchange that a thief uses: both may
// get it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { SIZE = 4, EMPTY = -1, JOBS = 2 };

static atomic_int jobs[SIZE];
static atomic_int top, bottom;
static atomic_int done[JOBS];

static void push(int job) {
    int b = atomic_load(&bottom);
    atomic_store(&jobs[b % SIZE], job);
    atomic_store(&bottom, b + 1);
}

static int take(void) {
    int b = atomic_load(&bottom) - 1;
    atomic_store(&bottom, b);
    int t = atomic_load(&top);
    if (t > b) {
        atomic_store(&bottom, b + 1);
        return EMPTY;
    }
    return atomic_load(&jobs[b % SIZE]);
}

static int steal(void) {
    int t = atomic_load(&top);
    if (t >= atomic_load(&bottom))
        return EMPTY;
    int job = atomic_load(&jobs[t % SIZE]);
    return atomic_compare_exchange_strong(&top, &t, t + 1) ? job : EMPTY;
}

static void run(int job) {
    if (job != EMPTY)
        assert(atomic_fetch_add(&done[job], 1) == 0); // <- done twice
}

static void *thief(void *arg) {
    (void)arg;
    run(steal());
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, thief, NULL);
    for (int job = 0; job < JOBS; job++)
        push(job);
    for (int i = 0; i < JOBS; i++)
        run(take());
    pthread_join(thread, NULL);
    return 0;
}

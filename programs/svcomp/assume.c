// __VERIFIER_assume under a lock: a run in which it does not hold is given up, the others go on to their end.
#include <pthread.h>
#include <stddef.h>

extern void __VERIFIER_assume(int);
extern void reach_error(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;

static void *make_ready(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, make_ready, NULL);
    pthread_mutex_lock(&lock);
    int seen = ready;
    pthread_mutex_unlock(&lock);
    __VERIFIER_assume(seen);
    pthread_join(thread, NULL);
    if (!ready)
        reach_error();
    return 0;
}

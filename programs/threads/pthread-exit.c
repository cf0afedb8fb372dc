// A thread leaves from deep down: cleanup handlers run, innermost first, then destructors of its keys; its result goes to the join.
#include <pthread.h>
#include <reweave.h>

static int calls;
static pthread_key_t key;

static void cleanup(void *place) {
    reweave_check(calls == *(int *)place, "cleanup handlers are called in the wrong order");
    calls++;
}

static void destroy(void *value) {
    reweave_check(value == &key && calls == 3, "a destructor comes too early");
    calls++;
}

static void deep(void *result) {
    int first = 0;
    pthread_cleanup_push(cleanup, &first);
    pthread_exit(result);
    pthread_cleanup_pop(0);
}

static void *start(void *result) {
    static int second = 1, third = 2;
    pthread_setspecific(key, &key);
    pthread_cleanup_push(cleanup, &third);
    pthread_cleanup_push(cleanup, &third);
    pthread_cleanup_pop(0);
    pthread_cleanup_push(cleanup, &second);
    deep(result);
    reweave_check(false, "a thread goes on after its exit");
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return 0;
}

int main(void) {
    pthread_key_create(&key, destroy);
    pthread_t thread;
    void *result;
    pthread_create(&thread, 0, start, &calls);
    pthread_join(thread, &result);
    reweave_check(calls == 4 && result == &calls, "something is missing");
}

// The first thread leaves; the others go on, and the process ends with the last of them.
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int done;
static pthread_t first;

static void at_end(void) { reweave_check(done == 3, "the process ends before its threads"); }

static void *grandchild(void *unused) {
    done++;
    return unused;
}

static void *child(void *unused) {
    pthread_t thread;
    void *result;
    pthread_join(first, &result);
    reweave_check(result == &done, "the first thread's result is lost");
    pthread_create(&thread, 0, grandchild, 0);
    pthread_detach(thread);
    done++;
    return unused;
}

static void *other(void *unused) {
    done++;
    return unused;
}

int main(void) {
    pthread_t thread;
    first = pthread_self();
    atexit(at_end);
    pthread_create(&thread, 0, child, 0);
    pthread_detach(thread);
    pthread_create(&thread, 0, other, 0);
    pthread_detach(thread);
    pthread_exit(&done);
}

// Threads that all exist before the first is joined have different handles, and so have detached ones whose handle nobody keeps.
#include <pthread.h>
#include <reweave.h>

static pthread_t own[2];

static void *start(void *place) {
    *(pthread_t *)place = pthread_self();
    return 0;
}

static void *detached(void *unused) {
    pthread_detach(pthread_self());
    return unused;
}

int main(void) {
    pthread_t threads[2], other;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, &own[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    reweave_check(!pthread_equal(own[0], own[1]), "one handle of two threads");
    for (int i = 0; i < 2; i++)
        pthread_create(&other, 0, detached, 0);
    pthread_exit(0);
}

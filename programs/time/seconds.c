// Two threads ask for the time in seconds. They may get the same answer or not; that is not explored.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static time_t times[2];

static void *ask(void *into) {
    *(time_t *)into = time(NULL);
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, ask, &times[0]);
    pthread_create(&two, NULL, ask, &times[1]);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    // Would be wrong now and then.
    assert(times[0] == times[1]);
    return 0;
}

// A semaphore with two places for three threads; who finds none goes away.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static sem_t places;
static atomic_int inside, served;

static void *enter(void *arg) {
    (void)arg;
    if (sem_trywait(&places) != 0) {
        assert(errno == EAGAIN);
        return NULL;
    }
    assert(atomic_fetch_add(&inside, 1) < 2);
    atomic_fetch_sub(&inside, 1);
    atomic_fetch_add(&served, 1);
    sem_post(&places);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    int left;
    sem_init(&places, 0, 2);
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, enter, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    sem_getvalue(&places, &left);
    assert(left == 2 && atomic_load(&served) >= 1);
    sem_destroy(&places);
    return 0;
}

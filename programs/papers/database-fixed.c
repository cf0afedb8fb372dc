// database.c put right: each class has a lock of its own for its count, so those who leave never wait for those who want in; and the
// room is a semaphore, because the last of a class to leave need not be the first that came.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef A
#define A 1
#endif
#ifndef B
#define B 1
#endif

struct class {
    pthread_mutex_t lock;
    int inside;
    atomic_int working;
};

static struct class a = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct class b = {.lock = PTHREAD_MUTEX_INITIALIZER};
static sem_t room;

static void enter(struct class *mine) {
    pthread_mutex_lock(&mine->lock);
    if (++mine->inside == 1)
        sem_wait(&room);
    pthread_mutex_unlock(&mine->lock);
}

static void leave(struct class *mine) {
    pthread_mutex_lock(&mine->lock);
    if (--mine->inside == 0)
        sem_post(&room);
    pthread_mutex_unlock(&mine->lock);
}

static void *operation(void *arg) {
    struct class *mine = arg, *other = mine == &a ? &b : &a;
    enter(mine);
    atomic_fetch_add(&mine->working, 1);
    assert(atomic_load(&other->working) == 0);
    atomic_fetch_sub(&mine->working, 1);
    leave(mine);
    return NULL;
}

int main(void) {
    pthread_t threads[A + B];
    sem_init(&room, 0, 1);
    for (int i = 0; i < A + B; i++)
        pthread_create(&threads[i], NULL, operation, i < A ? &a : &b);
    for (int i = 0; i < A + B; i++)
        pthread_join(threads[i], NULL);
    sem_destroy(&room);
    return 0;
}

// Named semaphores: what opening, closing and unlinking them answers, and two threads that meet by a name.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static int given;

static void *giver(void *argument) {
    sem_t *same = sem_open("/reweave-meet", O_CREAT, 0600, 0);
    assert(same != SEM_FAILED);
    given = 1;
    assert(sem_post(same) == 0);
    assert(sem_close(same) == 0);
    return argument;
}

static void answers(void) {
    assert(sem_open("/reweave-none", 0) == SEM_FAILED && errno == ENOENT);
    assert(sem_open("", O_CREAT, 0600, 0) == SEM_FAILED && errno == EINVAL);
    assert(sem_open("/reweave-many", O_CREAT, 0600, -1u) == SEM_FAILED && errno == EINVAL);
    sem_t *first = sem_open("/reweave-one", O_CREAT | O_EXCL, 0600, 3);
    assert(first != SEM_FAILED);
    assert(sem_open("/reweave-one", O_CREAT | O_EXCL, 0600, 3) == SEM_FAILED && errno == EEXIST);
    sem_t *again = sem_open("/reweave-one", 0);
    assert(again == first);
    int value;
    assert(sem_getvalue(again, &value) == 0 && value == 3);
    assert(sem_close(again) == 0);
    assert(sem_unlink("/reweave-one") == 0);
    assert(sem_unlink("/reweave-one") == -1 && errno == ENOENT);
    assert(sem_wait(first) == 0);
    sem_t *other = sem_open("/reweave-one", O_CREAT, 0600, 0);
    assert(other != SEM_FAILED && other != first);
    assert(sem_trywait(other) == -1 && errno == EAGAIN);
    assert(sem_unlink("/reweave-one") == 0);
    assert(sem_close(other) == 0);
    assert(sem_close(first) == 0);
}

int main(void) {
    pthread_t thread;
    answers();
    assert(pthread_create(&thread, NULL, giver, NULL) == 0);
    sem_t *meet = sem_open("/reweave-meet", O_CREAT, 0600, 0);
    assert(meet != SEM_FAILED);
    assert(sem_wait(meet) == 0);
    assert(given == 1);
    assert(pthread_join(thread, NULL) == 0);
    assert(sem_close(meet) == 0);
    assert(sem_unlink("/reweave-meet") == 0);
    return 0;
}

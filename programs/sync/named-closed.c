/* Two threads open a semaphore, use it, and close it, each when it is done: who is the last takes it away, and nobody is disturbed. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static void *posts(void *unused) {
    (void)unused;
    sem_t *semaphore = sem_open("/reweave-both", 0);
    if (semaphore != SEM_FAILED) {
        sem_post(semaphore);
        sem_close(semaphore);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    sem_t *semaphore = sem_open("/reweave-both", O_CREAT, 0600, 1);
    pthread_create(&thread, NULL, posts, NULL);
    assert(sem_wait(semaphore) == 0);
    sem_unlink("/reweave-both");
    sem_close(semaphore);
    pthread_join(thread, NULL);
    return 0;
}

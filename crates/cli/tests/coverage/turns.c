/* Two threads take turns; the first one in goes another way than the second. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static atomic_int turn, data;
static sem_t done;

static void work(void) {
    if (atomic_fetch_add(&turn, 1) == 0)
        atomic_store(&data, 1);
    else
        atomic_store(&data, 2);
}

static void *left(void *arg) {
    work();
    sem_post(&done);
    return arg;
}

static void *right(void *arg) {
    work();
    sem_wait(&done);
    return arg;
}

int main(void) {
    pthread_t first, second;
    sem_init(&done, 0, 0);
    pthread_create(&first, NULL, left, NULL);
    pthread_create(&second, NULL, right, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    sem_destroy(&done);
    if (atomic_load(&data) == 3)
        __builtin_trap();
    return 0;
}

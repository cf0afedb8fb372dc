/* Two calls that wait: a read of a byte that is there, and a semaphore that has been posted. Either may be interrupted. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <unistd.h>

static int ends[2];
static sem_t semaphore;

#ifdef LOOP
#define AGAIN(call) while ((call) == -1) assert(errno == EINTR)
#else
#define AGAIN(call) assert((call) != -1) /* fails if it is interrupted */
#endif

static void *waits(void *unused) {
    char byte;
    AGAIN(read(ends[0], &byte, 1)); /* <- */
    AGAIN(sem_wait(&semaphore));    /* <- */
    return unused;
}

int main(void) {
    pthread_t thread;
    assert(pipe(ends) == 0 && sem_init(&semaphore, 0, 1) == 0);
    AGAIN(write(ends[1], "a", 1)); /* <- */
    pthread_create(&thread, NULL, waits, NULL);
    pthread_join(thread, NULL);
    sem_destroy(&semaphore);
    return 0;
}

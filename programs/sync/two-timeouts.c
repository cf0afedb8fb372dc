// A thread that waits in vain waits once more: both waits may time out, even though their deadlines are long over.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static bool full;

static void *fill(void *unused) {
    pthread_mutex_lock(&lock);
    full = true;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t filler;
    struct timespec over = {.tv_sec = 1};
    pthread_create(&filler, NULL, fill, NULL);
    pthread_mutex_lock(&lock);
    if (!full && pthread_cond_timedwait(&filled, &lock, &over) == ETIMEDOUT && !full)
        if (pthread_cond_timedwait(&filled, &lock, &over) == ETIMEDOUT)
            assert(full); // <- twice in vain
    pthread_mutex_unlock(&lock);
    pthread_join(filler, NULL);
    return 0;
}

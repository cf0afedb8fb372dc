// A queue of jobs for two workers. Run by itself it works, nearly always.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int jobs;

static void put(void) {
    pthread_mutex_lock(&lock);
    jobs++;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

static void take(void) {
    pthread_mutex_lock(&lock);
    if (jobs == 0)
        pthread_cond_wait(&filled, &lock);
    assert(jobs > 0);
    jobs--;
    pthread_mutex_unlock(&lock);
}

static void *worker(void *unused) {
    take();
    return unused;
}

int main(void) {
    pthread_t workers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], 0, worker, 0);
    put();
    put();
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], 0);
}

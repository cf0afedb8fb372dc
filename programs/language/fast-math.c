// -ffast-math links code of the compiler, without hooks, that runs before main: nothing that a search could miss.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double sum;

static void *add(void *part) {
    pthread_mutex_lock(&mutex);
    sum += *(double *)part;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    double parts[] = {0.5, 0.25};
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, add, &parts[0]);
    pthread_create(&threads[1], NULL, add, &parts[1]);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(sum == 0.75);
    return 0;
}

// once.c put right with pthread_once: it is done once, and nobody goes on before it is done.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int times;

static void prepare(void) { times++; }

static void *use(void *arg) {
    (void)arg;
    pthread_once(&once, prepare);
    assert(times == 1);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, use, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

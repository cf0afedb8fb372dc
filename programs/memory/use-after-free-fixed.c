// use-after-free.c put right: a lock for looking and for taking away.
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *current;

static void *user(void *arg) {
    pthread_mutex_lock(&lock);
    int bad = current != NULL && *current != 1;
    pthread_mutex_unlock(&lock);
    return bad ? arg : NULL;
}

static void *remover(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    free(current);
    current = NULL;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    current = malloc(sizeof *current);
    *current = 1;
    pthread_t a, b;
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, remover, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}

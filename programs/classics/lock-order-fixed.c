// lock-order.c put right: one order for all.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static int moved;

static void move(int by) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    moved += by;
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
}

static void *there(void *arg) {
    (void)arg;
    move(1);
    return NULL;
}

static void *back(void *arg) {
    (void)arg;
    move(-1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, there, NULL);
    pthread_create(&b, NULL, back, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(moved == 0);
    return 0;
}

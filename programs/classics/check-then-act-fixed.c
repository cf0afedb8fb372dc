// check-then-act.c put right: looking and drawing in one critical section.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static void *draw(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    if (balance >= 60)
        balance -= 60;
    assert(balance >= 0);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, draw, NULL);
    pthread_create(&b, NULL, draw, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(balance == 40);
    return 0;
}

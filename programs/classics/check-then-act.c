// Check, then act: two threads draw 60 from an account of 100. The balance is looked at under the lock and changed under the lock, but
// the lock is let go in between.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static int look(void) {
    pthread_mutex_lock(&lock);
    int seen = balance;
    pthread_mutex_unlock(&lock);
    return seen;
}

static void *draw(void *arg) {
    (void)arg;
    if (look() >= 60) {
        pthread_mutex_lock(&lock);
        balance -= 60;
        assert(balance >= 0); // <- both saw 100
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, draw, NULL);
    pthread_create(&b, NULL, draw, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}

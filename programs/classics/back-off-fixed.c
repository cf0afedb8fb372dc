// back-off.c put right: who does not get its second lock lets the first one go, and tries again in the order of the others.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *forward(void *arg) {
    (void)arg;
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    done++;
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return NULL;
}

static void *backward(void *arg) {
    (void)arg;
    pthread_mutex_lock(&second);
    if (pthread_mutex_trylock(&first) != 0) {
        pthread_mutex_unlock(&second);
        return forward(NULL);
    }
    done++;
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, forward, NULL);
    pthread_create(&b, NULL, backward, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(done == 2);
    return 0;
}

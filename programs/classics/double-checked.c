// Double-checked initialisation with a plain pointer: the first look is not ordered after the one who made the thing.
#include <pthread.h>
#include <stddef.h>

struct config {
    int size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config made;
static struct config *config;

static struct config *get(void) {
    if (config == NULL) { // <- read without the lock
        pthread_mutex_lock(&lock);
        if (config == NULL) {
            made.size = 3;
            config = &made; // <- written with it
        }
        pthread_mutex_unlock(&lock);
    }
    return config;
}

static void *use(void *arg) {
    (void)arg;
    return get()->size == 3 ? NULL : arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, use, NULL);
    pthread_create(&b, NULL, use, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}

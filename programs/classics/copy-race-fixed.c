// copy-race.c put right: the copy and the change under one lock.
#include <pthread.h>
#include <stddef.h>
#include <string.h>

struct record {
    int fields[16];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record shared, copy;

static void *change(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    shared.fields[11] = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *save(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    memcpy(&copy, &shared, sizeof copy);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, change, NULL);
    pthread_create(&b, NULL, save, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return copy.fields[0];
}

// Thread-specific data whose destructor frees what all threads share: the second to end frees it again.
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static pthread_key_t key;

static void give_back(void *buffer) {
    free(buffer); // <- was not this thread's own
}

static void *work(void *buffer) {
    pthread_setspecific(key, buffer);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_key_create(&key, give_back);
    void *shared = malloc(16);
    pthread_create(&a, NULL, work, shared);
    pthread_create(&b, NULL, work, shared);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_key_delete(key);
    return 0;
}

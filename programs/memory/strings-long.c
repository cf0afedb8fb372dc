// A thread computes for long with functions on strings, which read in two places from one call: it does not wait for anybody.
#include <pthread.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char words[64][16];
static int less;

static void *compare(void *unused) {
    (void)unused;
    int found = 0;
    for (int i = 0; i < 20000000; i++)
        found += strcmp(words[i % 64], words[i * 7 % 64]) < 0;
    pthread_mutex_lock(&mutex);
    less += found;
    pthread_mutex_unlock(&mutex);
    return 0;
}

int main(void) {
    for (int i = 0; i < 64; i++)
        strcpy(words[i], i % 3 ? "aaaaaaa" : "aaaab");
    pthread_t thread;
    pthread_create(&thread, 0, compare, 0);
    pthread_mutex_lock(&mutex);
    less++;
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return less < 1;
}

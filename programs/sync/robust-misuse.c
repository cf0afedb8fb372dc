// Who finds that a holder has ended takes no notice, and relies on what is only half done.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t mutex;
static int left = 100, right;

static void *move(void *argument) {
    pthread_mutex_lock(&mutex);
    left -= 10;
    if (argument != NULL) {
        pthread_exit(NULL);
    }
    right += 10;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_t thread;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_create(&thread, NULL, move, &thread);
    int error = pthread_mutex_lock(&mutex);
    if (error == 0 || error == EOWNERDEAD) {
        assert(left + right == 100); // <- after the thread
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&mutex);
    pthread_mutexattr_destroy(&attributes);
    return 0;
}

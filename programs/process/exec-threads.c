/* A worker, the program again, has threads, which increment a counter under a lock; with RACE without one. */
#include <assert.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *increment(void *nothing) {
#ifndef RACE
    pthread_mutex_lock(&mutex);
#endif
    count++; /* <- */
#ifndef RACE
    pthread_mutex_unlock(&mutex);
#endif
    return nothing;
}

static int twice(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, increment, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return count;
}

int main(int argc, char **argv) {
    int status;
    if (argc > 1) return twice();
    assert(twice() == 2);
    pid_t child = fork();
    if (child == 0) {
        assert(count == 2);
        execl("/proc/self/exe", argv[0], "worker", (char *)NULL);
        _exit(9);
    }
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 2);
    return 0;
}

/* What a child changes in its own memory, its parent does not see: variables, blocks of the heap, mutexes, handlers. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int plain = 1;
static atomic_int counter = 1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int own = 1;

static void at_end(void) { counter++; }

static void *work(void *block) {
    pthread_mutex_lock(&mutex);
    plain++;
    *(int *)block = plain;
    pthread_mutex_unlock(&mutex);
    return block;
}

int main(void) {
    int *block = malloc(sizeof *block);
    *block = 1;
    atexit(at_end);
    pthread_mutex_lock(&mutex);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        assert(getppid() != getpid());
        /* The one thread of the child holds what its parent held. */
        pthread_mutex_unlock(&mutex);
        pthread_t thread;
        pthread_create(&thread, NULL, work, block);
        pthread_mutex_lock(&mutex);
        plain++;
        counter++;
        pthread_mutex_unlock(&mutex);
        void *same;
        pthread_join(thread, &same);
        assert(same == block && plain == 3 && counter == 2);
        own++;
        free(block);
        printf("child\n");
        exit(own);
    }
    plain += 10;
    pthread_mutex_unlock(&mutex);
    int status;
    assert(waitpid(child, &status, 0) == child);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 2);
    assert(plain == 11 && counter == 1 && *block == 1 && own == 1);
    free(block);
    return 0;
}

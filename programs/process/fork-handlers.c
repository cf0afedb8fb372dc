/* Handlers around a fork: in the opposite order of their registration before it, in that order after it. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char called[16];

static void note(const char *name) { strcat(called, name); }
static void before_1(void) { note("1"); pthread_mutex_lock(&mutex); }
static void before_2(void) { note("2"); }
static void parent_1(void) { note("p"); pthread_mutex_unlock(&mutex); }
static void parent_2(void) { note("P"); }
static void child_1(void) { note("c"); pthread_mutex_unlock(&mutex); }
static void child_2(void) { note("C"); }

int main(void) {
    pthread_atfork(before_1, parent_1, child_1);
    pthread_atfork(before_2, parent_2, child_2);
    pid_t child = fork();
    assert(strcmp(called, child == 0 ? "21cC" : "21pP") == 0);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    return 0;
}

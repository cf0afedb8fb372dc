/* A child runs the program again, with an argument and an environment of its own. What the process has besides memory stays: descriptors, its
   number, the signals that it ignores and blocks, its parent. With WRONG the worker expects memory to stay, too. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int changed = 1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void handler(int signal) { (void)signal; }

static void worker(int argc, char **argv) {
    char text[16];
    struct sigaction action;
    sigset_t blocked;
    assert(argc == 4 && strcmp(argv[0], "again") == 0 && argv[4] == NULL);
#ifdef WRONG
    assert(changed == 2); /* <- */
#endif
    assert(changed == 1 && strcmp(getenv("COLOUR"), "red") == 0 && getenv("HOME") == NULL);
    assert(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
    assert(sigaction(SIGUSR1, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    assert(sigaction(SIGUSR2, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
    assert(sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, SIGHUP) == 1);
    assert(sigismember(&blocked, SIGUSR1) == 0);
    assert(atoi(argv[3]) == (int)getpid());
    int length = snprintf(text, sizeof text, "%d", (int)getppid());
    assert(write(atoi(argv[2]), text, length + 1) == length + 1);
    exit(7);
}

int main(int argc, char **argv) {
    int ends[2], status;
    char number[16], own[16], text[16];
    if (argc > 1) worker(argc, argv);
    if (pipe(ends) != 0) return 1;
    pid_t child = fork();
    if (child == 0) {
        sigset_t blocked;
        changed = 2;
        assert(pthread_mutex_lock(&mutex) == 0);
        assert(signal(SIGUSR1, handler) != SIG_ERR && signal(SIGUSR2, SIG_IGN) != SIG_ERR);
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGHUP);
        sigprocmask(SIG_BLOCK, &blocked, NULL);
        char *block = malloc(100);
        snprintf(block, 100, "COLOUR=red");
        snprintf(number, sizeof number, "%d", ends[1]);
        snprintf(own, sizeof own, "%d", (int)getpid());
        char *arguments[] = {"again", "worker", number, own, NULL}, *environment[] = {block, NULL};
        execve("/proc/self/exe", arguments, environment);
        _exit(2);
    }
    assert(read(ends[0], text, sizeof text) > 0 && atoi(text) == (int)getpid());
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    return 0;
}

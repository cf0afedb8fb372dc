/* A worker is started by posix_spawn, with its output to a pipe, a signal blocked and another one reset. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int worker(char **argv) {
    struct sigaction action;
    sigset_t blocked;
    char letter;
    assert(strcmp(argv[1], "worker") == 0 && strcmp(getenv("COLOUR"), "red") == 0);
    assert(sigaction(SIGUSR1, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    assert(sigprocmask(SIG_BLOCK, NULL, &blocked) == 0);
    assert(sigismember(&blocked, SIGHUP) == 1 && sigismember(&blocked, SIGTERM) == 0);
    assert(read(STDIN_FILENO, &letter, 1) == 0);
    assert(fcntl(atoi(argv[2]), F_GETFD) == -1 && errno == EBADF);
    return write(STDOUT_FILENO, "done", 4) != 4;
}

int main(int argc, char **argv) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    pid_t child;
    int ends[2], status;
    char text[8], number[2] = {0};
    if (argc > 1) return worker(argv);
    if (pipe(ends) != 0) return 1;
    number[0] = '0' + ends[0];
    char *arguments[] = {argv[0], "worker", number, NULL}, *environment[] = {"COLOUR=red", NULL};
    signal(SIGUSR1, SIG_IGN);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    posix_spawnattr_init(&attributes);
    sigemptyset(&signals);
    sigaddset(&signals, SIGHUP);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    assert(posix_spawn(&child, "/not/there", NULL, NULL, arguments, environment) == ENOENT);
    assert(posix_spawn(&child, "/proc/self/exe", &actions, &attributes, arguments, environment) == 0);
    close(ends[1]);
    assert(read(ends[0], text, sizeof text) == 4 && memcmp(text, "done", 4) == 0);
    assert(read(ends[0], text, sizeof text) == 0);
    assert(waitpid(child, &status, 0) == child && status == 0);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return 0;
}

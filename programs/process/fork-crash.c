/* A child crashes in one order: that costs the run, and the search goes on. Its parent sees how it ended. */
#define _GNU_SOURCE
#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    atomic_int *flag =
        mmap(NULL, sizeof *flag, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        if (atomic_load(flag) == 1) *(volatile int *)8 = 1; /* <- */
        if (atomic_load(flag) == 1) raise(SIGTERM);
        _exit(5);
    }
    atomic_store(flag, 1);
    int status;
    assert(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status)) assert(WEXITSTATUS(status) == 5);
    else assert(WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGTERM);
    return 0;
}

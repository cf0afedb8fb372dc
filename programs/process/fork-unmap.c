/* A parent unmaps memory that its child still uses: the child keeps it. Only one process uses it after the fork: 1 execution. */
#define _GNU_SOURCE
#include <assert.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int *count =
        mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(count != MAP_FAILED);
    pid_t child = fork();
    if (child == 0) {
        ++*count;
        _exit(*count);
    }
    munmap(count, sizeof *count);
    int status;
    assert(waitpid(child, &status, 0) == child);
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    return 0;
}

/* A parent and its children add to a counter that they share. With PLAIN the counter is no atomic. */
#define _GNU_SOURCE
#include <assert.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef N
#define N 1
#endif

#ifdef PLAIN
typedef int counter;
#else
typedef atomic_int counter;
#endif

int main(void) {
    counter *count =
        mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[N];
    for (int i = 0; i < N; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            ++*count; /* <- */
            _exit(10 + i);
        }
    }
    ++*count; /* <- */
    for (int i = 0; i < N; i++) {
        int status;
        assert(waitpid(children[i], &status, 0) == children[i]);
        assert(WIFEXITED(status) && WEXITSTATUS(status) == 10 + i);
    }
    assert(*count == N + 1);
    assert(wait(NULL) == -1);
    return 0;
}

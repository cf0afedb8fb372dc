/* A named semaphore that one process opened before the fork, and another one after it. */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int *sum = mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_t *semaphore = sem_open("/fork-named", O_CREAT, 0600, 1);
    assert(semaphore != SEM_FAILED);
    pid_t child = fork();
    if (child == 0) semaphore = sem_open("/fork-named", 0);
    sem_wait(semaphore);
    ++*sum;
    sem_post(semaphore);
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    assert(*sum == 2);
    sem_close(semaphore);
    sem_unlink("/fork-named");
    return 0;
}

// A named semaphore is used after it was closed and its name was gone.
#include <fcntl.h>
#include <semaphore.h>
#include <stddef.h>

int main(void) {
    sem_t *semaphore = sem_open("/reweave-gone", O_CREAT, 0600, 1);
    sem_unlink("/reweave-gone");
    sem_close(semaphore);
    sem_wait(semaphore); // <-
    return 0;
}

// A file that was there before the run, the program's source, is written to and gets its copy while another thread is in the middle of opening it, or of reading
// it by a number that is closed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <semaphore.h>
#include <unistd.h>

static const char *self = "disk-copied.c";
static sem_t written;
static int file;
static char byte;

static void overwrite(void) {
    int other = open(self, O_WRONLY);
    reweave_check(pwrite(other, "N", 1, 0) == 1 && close(other) == 0, "nothing is written");
}

static void *start(void *unused) {
#ifdef CLOSES
    close(file);
#endif
    overwrite();
    sem_post(&written);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&written, 0, 0);
    if (access(self, F_OK) != 0) // Elsewhere.
        close(open(self, O_CREAT | O_WRONLY, 0600));
#ifdef CLOSES
    file = open(self, O_RDONLY);
    pthread_create(&thread, 0, start, 0);
    if (read(file, &byte, 1) == 1)
        reweave_check(byte == '/', "it was looked up before it was closed, and read after it was changed"); // <-
    pthread_join(thread, 0);
#else
    // Two numbers that stand together stay together.
    int first = open(self, O_RDONLY), second = dup(first);
    pthread_create(&thread, 0, start, 0);
    file = open(self, O_RDONLY);
    sem_wait(&written);
    reweave_check(read(file, &byte, 1) == 1 && byte == 'N', "it is as it was before");
    pthread_join(thread, 0);
    reweave_check(read(first, &byte, 1) == 1 && byte == 'N', "it is as it was before");
    reweave_check(read(second, &byte, 1) == 0 || byte == '/', "it stands elsewhere");
    close(first);
    close(second);
    close(file);
#endif
    sem_destroy(&written);
}

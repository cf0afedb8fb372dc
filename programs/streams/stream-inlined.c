/* A stream without a buffer, by calls that compilers put into the program itself, beside a look at its file. */
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int file;
static char seen;

#ifdef READS
static void *uses(void *unused) {
    FILE *stream = fopen("letter", "r");
    seen = getc_unlocked(stream);
    fclose(stream);
    return unused;
}

static void *beside(void *unused) {
    pwrite(file, "Z", 1, 0);
    return unused;
}
#else
static void *uses(void *unused) {
    FILE *stream = fopen("letter", "r+");
    setvbuf(stream, NULL, _IONBF, 0);
    putc_unlocked('Z', stream);
    fclose(stream);
    return unused;
}

static void *beside(void *unused) {
    pread(file, &seen, 1, 0);
    return unused;
}
#endif

int main(void) {
    file = open("letter", O_CREAT | O_RDWR, 0600);
    write(file, "A", 1);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, uses, NULL);
    pthread_create(&threads[1], NULL, beside, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(seen != 'A'); /* <- one order */
    assert(seen != 'Z'); /* <- the other */
    return 0;
}

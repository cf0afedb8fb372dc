/* Calls that read memory of the program, or write to it (-DUSES), beside a thread that changes it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef USES
#define USES fputs(text, file)
#define CHANGES text[0] = 'x'
#endif

static FILE *file;
static char text[] = "a;b";
static char *line;
static size_t room;
static struct iovec part = {text, 1};

static void *uses(void *unused) {
    (void)line, (void)room, (void)part;
    USES; /* <- */
    return unused;
}

static void *changes(void *unused) {
    CHANGES; /* <- */
    return unused;
}

int main(void) {
    file = fopen("text", "w+");
    fputs("1;2;", file);
    rewind(file);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, uses, NULL);
    pthread_create(&threads[1], NULL, changes, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    fclose(file);
    free(line);
    return 0;
}

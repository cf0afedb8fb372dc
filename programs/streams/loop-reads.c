// A loop that goes on inside the C library: each round reads more of a stream, and nothing that has a hook changes. It leaves at the end
// of the file, or when the other thread says so.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int stop;
static int ended;
static FILE *file;

// Whether there was more.
static int goes_on(void) {
#if WAY == 1
    char line[8];
    return fgets(line, sizeof line, file) != NULL;
#elif WAY == 2
    char *line = NULL;
    size_t room = 0;
    int more = getline(&line, &room, file) > 0;
    free(line);
    return more;
#elif WAY == 3
    char word[2];
    return fread(word, 2, 1, file) == 1;
#elif WAY == 4
    char word;
    return fscanf(file, " %c", &word) == 1;
#elif WAY == 5
    return getc_unlocked(file) != EOF && getc_unlocked(file) != EOF;
#elif WAY == 6
    fseek(file, 2, SEEK_CUR);
    return ftell(file) <= 8;
#elif WAY == 7
    return fputs("a\n", file) >= 0 && ftell(file) <= 16;
#else
    return fgetc(file) != EOF && fgetc(file) != EOF;
#endif
}

static void *reader(void *arg) {
    (void)arg;
    while (!atomic_load(&stop))
        if (!goes_on()) {
            ended = 1;
            break;
        }
    return NULL;
}

int main(void) {
    file = tmpfile();
    for (int i = 0; i < 4; i++)
        fputs("a\n", file);
    rewind(file);
    if (WAY == 7)
        fseek(file, 0, SEEK_END);
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    fclose(file);
#ifdef NEVER
    assert(!ended); // <-
#endif
}

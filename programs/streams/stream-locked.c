// Calls on streams wait for who has locked the stream.
#define _GNU_SOURCE
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>
#include <string.h>

static FILE *stream;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#ifdef STUCK
static void *lines(void *unused) {
    flockfile(stdout);
    pthread_mutex_lock(&mutex); // <-
    pthread_mutex_unlock(&mutex);
    funlockfile(stdout);
    return unused;
}

static void *line(void *unused) {
    pthread_mutex_lock(&mutex);
    printf("%d\n", 1); // <-
    pthread_mutex_unlock(&mutex);
    return unused;
}
#else
static void *lines(void *unused) {
    flockfile(stream);
    fputs("a", stream);
    fprintf(stream, "%.0f", 1.0);
    funlockfile(stream);
    return unused;
}

static void *line(void *unused) {
    fputc('b', stream);
    return unused;
}
#endif

int main(void) {
    char *text;
    size_t length;
    stream = open_memstream(&text, &length);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, lines, 0);
    pthread_create(&threads[1], 0, line, 0);
    pthread_join(threads[0], 0); // <-
    pthread_join(threads[1], 0);
    fclose(stream);
#ifdef CERTAIN
    reweave_check(strcmp(text, "a1b") == 0, "the other came first"); // <-
#elif !defined(STUCK)
    reweave_check(!strcmp(text, "a1b") || !strcmp(text, "ba1"), "one came between");
#endif
    (void)mutex;
    __builtin_free(text);
}

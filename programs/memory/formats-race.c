// What formatted output reads and formatted input writes races with what another thread does to the same memory.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#ifndef USES
#define USES printf("%d %s\n", 1, text)
#endif
#ifndef CHANGES
#define CHANGES text[2] = 'x'
#endif

static char text[16] = "abcd";
static wchar_t wide[16] = L"abcd";
static char out[64];
static int number;
static FILE *file;

static void *other(void *unused) {
    CHANGES; // <-
    return unused;
}

int main(void) {
    file = tmpfile();
    fputs("17 words", file);
    rewind(file);
    char *made = NULL;
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    (void)!(USES); // <-
    pthread_join(thread, NULL);
    free(made);
    fclose(file);
    (void)wide, (void)out, (void)number;
    return 0;
}

// Calls on a stream whose buffer another thread fills: whether something is in the buffer depends on the order, and the operation does not.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static FILE *file;
static atomic_int one, two;

static void *writer(void *arg) {
    atomic_store(&one, 1);
    fputs("abc", file);
    return arg;
}

static void *looker(void *arg) {
    atomic_store(&two, 1);
    switch (WAY) {
    case 1:
        rewind(file);
        break;
    case 2:
        fseek(file, 0, SEEK_END);
        break;
    case 3:
        feof(file);
        break;
    case 4:
        fgetc(file);
        break;
    case 5:
        clearerr(file);
        break;
    default:
        ftell(file);
    }
    return arg;
}

int main(void) {
    file = tmpfile();
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, looker, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    fclose(file);
}

/* Two threads take a number each from one file of wide characters: to take one is a step. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <wchar.h>

static FILE *file;
static int first, second;

static void *one(void *unused) {
    fwscanf(file, L"%d", &first);
    return unused;
}

static void *other(void *unused) {
    fwscanf(file, L"%d", &second);
    return unused;
}

int main(void) {
    file = fopen("numbers", "w+");
    fwprintf(file, L"1 2");
    rewind(file);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, other, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(first + second == 3);
    assert(first == 1); /* <- the other order */
    fclose(file);
    return 0;
}

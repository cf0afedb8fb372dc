// A file that a run makes, writes and reads: the next run finds nothing of it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int turns;
static FILE *file;

static void *work(void *arg) {
    fprintf(file, "%d %s\n", atomic_fetch_add(&turns, 1), (char *)arg);
    return NULL;
}

int main(void) {
    file = tmpfile();
    assert(file != NULL);
    assert(fgetc(file) == EOF);
    pthread_t a, b;
    pthread_create(&a, NULL, work, "a");
    pthread_join(a, NULL);
    pthread_create(&b, NULL, work, "b");
    pthread_join(b, NULL);
    rewind(file);
    char text[16] = "";
    assert(fread(text, 1, sizeof text, file) == 8);
    assert(text[0] == '0' && text[2] == 'a' && text[4] == '1' && text[6] == 'b');
    fclose(file);
    return 0;
}

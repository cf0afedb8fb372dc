// Two threads open a file that is there already, its own source, for writing anew. One after the other they write; nothing else is in it.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static void *write_anew(void *text) {
    FILE *file = fopen("disk-emptied.c", "w");
    assert(file);
    fputs(text, file);
    fclose(file);
    return 0;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, write_anew, "one");
    pthread_join(thread, 0);
    write_anew("two");
    char all[8] = "";
    FILE *file = fopen("disk-emptied.c", "r");
    assert(file && fgets(all, sizeof all, file));
    fclose(file);
    assert(all[0] == 't' && all[3] == 0);
    return 0;
}

// A stream is closed while another thread writes to it.
#include <pthread.h>
#include <stdio.h>

static FILE *stream;

static void *start(void *unused) {
    fputs("x", stream); // <-
    return unused;
}

int main(void) {
    pthread_t thread;
    stream = fopen("stream.tmp", "w");
    pthread_create(&thread, 0, start, 0);
#ifdef JOINED
    pthread_join(thread, 0);
    fclose(stream);
#else
    fclose(stream); // <-
    pthread_join(thread, 0);
#endif
    remove("stream.tmp");
}

// A thread is cancelled before, in or after a call on a stream (CALL says which). It acts on that where the stream goes to its file, and nowhere else.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFERED 0
#define FLUSHED 1
#define UNBUFFERED 2
#define READ 3
#define READ_AHEAD 4
#define CLOSED 5
#define ALL 6
#define OPENED 7
#define OVERFLOWN 8
#define LOCKED 9

#ifndef CALL
#define CALL FLUSHED
#endif

static FILE *stream;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int passed;

static void *worker(void *unused) {
    (void)unused;
    char large[8192] = "";
    switch (CALL) {
    case BUFFERED:
        assert(fputs("text", stream) >= 0);
        break;
    case FLUSHED:
        assert(fflush(stream) == 0);
        break;
    case UNBUFFERED:
        assert(fputc('a', stream) == 'a');
        break;
    case READ:
        assert(fgetc(stream) == EOF);
        break;
    case READ_AHEAD:
        assert(fgetc(stream) == 'b');
        break;
    case CLOSED:
        assert(fclose(stream) == 0);
        break;
    case ALL:
        assert(fflush(NULL) == 0);
        break;
    case OPENED:
        assert((stream = fopen("cancel-streams.tmp", "w")));
        assert(fclose(stream) == 0);
        break;
    case OVERFLOWN:
        assert(fwrite(large, 1, sizeof large, stream) == sizeof large);
        break;
    case LOCKED:
        // Nobody gives the lock back when the thread goes.
        pthread_mutex_lock(&mutex);
        fflush(stream);
        pthread_mutex_unlock(&mutex);
        break;
    }
    passed = 1;
    return NULL;
}

int main(void) {
    pthread_t thread;
    void *result;
    stream = CALL == OPENED ? NULL : fopen("cancel-streams.tmp", "w+");
    if (CALL == UNBUFFERED)
        setvbuf(stream, NULL, _IONBF, 0);
    if (CALL == FLUSHED || CALL == CLOSED || CALL == ALL || CALL == LOCKED)
        fputs("text", stream);
    if (CALL == READ_AHEAD) {
        fputs("ab", stream);
        rewind(stream);
        assert(fgetc(stream) == 'a');
    }
    pthread_create(&thread, NULL, worker, NULL);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    assert(passed == (result == NULL));
    if (CALL == BUFFERED || CALL == READ_AHEAD)
        assert(passed);
    if (CALL == LOCKED) {
        pthread_mutex_lock(&mutex); /* <- */
        pthread_mutex_unlock(&mutex);
    }
    if (stream && !(CALL == CLOSED && passed) && CALL != OPENED)
        fclose(stream);
    return 0;
}

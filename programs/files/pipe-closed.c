// A pipe is closed while a thread reads from it. The call keeps its end.
#include <errno.h>
#include <pthread.h>
#include <reweave.h>
#include <signal.h>
#include <unistd.h>

static int ends[2];
static int got, error;

static void *reader(void *text) {
    got = read(ends[0], text, 1);
    error = errno;
    return NULL;
}

int main(void) {
    pthread_t thread;
    char text = 0;
    signal(SIGPIPE, SIG_IGN);
    pipe(ends);
    pthread_create(&thread, NULL, reader, &text);
#ifdef WRITER
    close(ends[1]);
    pthread_join(thread, NULL);
    reweave_check(got == 0, "it has no end");
#else
    close(ends[0]);
    int put = write(ends[1], "x", 1);
    int broken = errno;
    close(ends[1]);
    pthread_join(thread, NULL);
    // The thread has looked the descriptor up before it was closed, or after that.
    reweave_check(got == 1 ? put == 1 && text == 'x' : got == -1 && error == EBADF, "it got nothing");
    reweave_check(put == 1 || broken == EPIPE, "the pipe is full");
#ifdef ALWAYS
    reweave_check(put == 1, "the reader was too late"); // <-
#elif defined NEVER
    reweave_check(put == -1, "the reader was first"); // <-
#endif
#endif
}

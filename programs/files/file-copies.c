// Copies from file to file: to read is a step, and to write is another.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

static char input[] = "reweave-XXXXXX";
static char outputs[2][15] = {"reweave-XXXXXX", "reweave-XXXXXX"};

static void *copies(void *output) {
    int from = open(input, O_RDONLY), to = open(output, O_RDWR);
    reweave_check(sendfile(to, from, 0, 2) == 2, "not all of it is copied");
    loff_t at = 2;
    reweave_check(copy_file_range(from, &at, to, 0, 9, 0) == 1, "not the rest is copied");
    reweave_check(at == 3 && lseek(from, 0, SEEK_CUR) == 2, "it stands elsewhere");
    char text[4];
    reweave_check(pread(to, text, 4, 0) == 3, "it is shorter or longer");
    reweave_check(text[0] == 'a', "it was changed"); // <-
    reweave_check(sendfile(from, to, 0, 1) == -1, "a file is written to that is open for reading");
    close(from);
    close(to);
    return 0;
}

int main(void) {
    int file = mkstemp(input);
    reweave_check(write(file, "abc", 3) == 3, "nothing is written");
    for (int i = 0; i < 2; i++)
        close(mkstemp(outputs[i]));
    pthread_t thread;
    pthread_create(&thread, 0, copies, outputs[0]);
#ifdef WRITTEN
    reweave_check(pwrite(file, "x", 1, 0) == 1, "nothing is written");
#else
    copies(outputs[1]);
#endif
    pthread_join(thread, 0);
    close(file);
    unlink(input);
    for (int i = 0; i < 2; i++)
        unlink(outputs[i]);
}

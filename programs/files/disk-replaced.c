// A file is replaced by a new one of the same name while another thread reads it: that reads all of the old one, or all of the new one.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *name = "reweave-settings", *next = "reweave-settings-next";

static void put(const char *path, const char *text) {
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0666);
    reweave_check(write(file, text, 3) == 3, "nothing is written");
    close(file);
}

static void *start(void *unused) {
    reweave_check(rename(next, name) == 0, "it keeps its name");
    return unused;
}

int main(void) {
    put(name, "old");
    put(next, "new");
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    char text[4] = "";
    int file = open(name, O_RDONLY);
    reweave_check(read(file, text, 1) == 1 && read(file, text + 1, 2) == 2, "it is not there");
    close(file);
#ifdef OLD
    reweave_check(strcmp(text, "old") == 0, "it is the new one"); // <-
#elif defined(NEW)
    reweave_check(strcmp(text, "new") == 0, "it is the old one"); // <-
#else
    reweave_check(!strcmp(text, "old") || !strcmp(text, "new"), "it is a part of each");
#endif
    pthread_join(thread, 0);
    unlink(name);
}

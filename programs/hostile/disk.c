/* Everything that can be done to files, seen again by the same run and by no other: each run finds what lies there before the program
 * is started, whatever the others did, and whichever worker runs it. */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int turns;

static void *work(void *unused) {
    (void)unused;
    atomic_fetch_add(&turns, 1);
    return NULL;
}

static int count(const char *path) {
    DIR *directory = opendir(path);
    assert(directory);
    int entries = 0;
    while (readdir(directory))
        entries++;
    closedir(directory);
    return entries - 2;
}

static void put(const char *path, const char *mode, const char *text) {
    FILE *file = fopen(path, mode);
    assert(file);
    fputs(text, file);
    assert(fclose(file) == 0);
}

static const char *get(const char *path) {
    static char text[64];
    FILE *file = fopen(path, "r");
    if (!file)
        return "";
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = 0;
    fclose(file);
    return text;
}

static void new_files(void) {
    struct stat found;
    char here[PATH_MAX], now[PATH_MAX];
    assert(getcwd(here, sizeof here));
    assert(mkdir("tree", 0755) == 0);
    assert(mkdir("tree", 0755) == -1 && errno == EEXIST);
    assert(chdir("tree") == 0);
    assert(getcwd(now, sizeof now));
    assert(strncmp(now, here, strlen(here)) == 0 && strcmp(now + strlen(here), "/tree") == 0);
    put("a", "wx", "first");
    assert(!fopen("a", "wx") && errno == EEXIST);
    put("a", "a", " second");
    assert(strcmp(get("a"), "first second") == 0);
    assert(stat("a", &found) == 0 && found.st_size == 12);
    assert(symlink("a", "l") == 0);
    assert(strcmp(get("l"), "first second") == 0);
    assert(link("a", "h") == 0);
    assert(count(".") == 3);
    assert(rename("a", "b") == 0);
    assert(access("a", F_OK) == -1 && errno == ENOENT);
    assert(strcmp(get("../tree/b"), "first second") == 0);
    assert(realpath("h", now) && strcmp(now + strlen(here), "/tree/h") == 0);
    assert(truncate("b", 5) == 0);
    assert(strcmp(get("h"), "first") == 0);
    assert(chdir("..") == 0);
    assert(rmdir("tree") == -1 && errno == ENOTEMPTY);
    assert(rename("tree", "wood") == 0);
    assert(strcmp(get("wood/b"), "first") == 0);
    assert(unlink("wood/b") == 0 && unlink("wood/h") == 0 && remove("wood/l") == 0);
    assert(rmdir("wood") == 0);
    assert(stat("wood", &found) == -1 && errno == ENOENT);
}

static void old_files(void) {
    int files = count(".");
    assert(strncmp(get("disk.txt"), "first line", 10) == 0);
    put("disk.txt", "r+", "FIRST");
    assert(strncmp(get("disk.txt"), "FIRST line\nsecond", 17) == 0);
    assert(count(".") == files);
    assert(unlink("disk.txt") == 0);
    assert(count(".") == files - 1);
    assert(open("disk.txt", O_RDONLY) == -1 && errno == ENOENT);
    put("disk.txt", "w", "new");
    assert(count(".") == files);
    assert(strcmp(get("disk.txt"), "new") == 0);
}

static void temporary_files(void) {
    int files = count(".");
    char name[] = "tmpXXXXXX", again[] = "tmpXXXXXX", directory[] = "dirXXXXXX";
    int one = mkstemp(name), other = mkstemp(again);
    assert(one >= 0 && other >= 0 && strcmp(name, again) != 0);
    assert(write(one, "x", 1) == 1);
    assert(close(one) == 0 && close(other) == 0);
    assert(strcmp(get(name), "x") == 0);
    assert(mkdtemp(directory));
    assert(count(".") == files + 3);
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, work, NULL);
    pthread_create(&other, NULL, work, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    new_files();
    old_files();
    temporary_files();
    return 0;
}

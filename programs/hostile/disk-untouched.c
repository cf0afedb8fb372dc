/* What a run does to files by ways that are easily overlooked: none may reach what really lies there. Every run looks first whether some
 * other one has left anything behind, and the corpus finds the file of the repository as it was. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

static const char *name = "disk.txt";
static atomic_int turns;

static void *work(void *unused) {
    atomic_fetch_add(&turns, 1);
    return unused;
}

static struct stat state_of(const char *path) {
    struct stat found;
    assert(lstat(path, &found) == 0);
    return found;
}

/* What an earlier run would have left. */
static void look_first(void) {
    struct stat found = state_of(name);
    assert(S_ISREG(found.st_mode) && found.st_size > 20);
    assert((found.st_mode & 0777) != 0700 && found.st_mtime != 5 && found.st_mtime != 7);
    const char *left[] = {"left.tmp", "link.tmp", "/dev/left.tmp", "/dev/left-directory.tmp"};
    for (int i = 0; i < 4; i++)
        assert(access(left[i], F_OK) == -1 && errno == ENOENT);
}

static void loops(void) {
    assert(unlink(name) == 0 && symlink(name, name) == 0);
    assert(open(name, O_WRONLY | O_TRUNC) == -1 && errno == ELOOP);
    assert(truncate(name, 1) == -1 && errno == ELOOP);
    assert(chmod(name, 0700) == -1 && errno == ELOOP);
    assert(!fopen(name, "w") && errno == ELOOP);
    assert(!freopen(name, "w", stderr) && errno == ELOOP);
    struct stat found;
    assert(stat(name, &found) == -1 && errno == ELOOP);
    assert(unlink(name) == 0);
}

static void by_descriptor(void) {
    struct timespec times[2] = {{7, 0}, {7, 0}};
    int file = open("left.tmp", O_CREAT | O_RDWR, 0600);
    assert(futimens(file, times) == 0 && fchmod(file, 0700) == 0);
    assert(fchownat(file, "", getuid(), getgid(), AT_EMPTY_PATH) == 0);
    assert(state_of("left.tmp").st_mtime == 7 && (state_of("left.tmp").st_mode & 0777) == 0700);
    /* What has lost its name is reached by its descriptor, and only that. */
    assert(unlink("left.tmp") == 0);
    char path[40];
    sprintf(path, "/proc/self/fd/%d", file);
    int again = open(path, O_WRONLY | O_TRUNC);
    assert(again >= 0 && write(again, "x", 1) == 1);
    assert(lseek(file, 0, SEEK_END) == 1);
    assert(close(file) == 0 && close(again) == 0);
    assert(access("left.tmp", F_OK) == -1);
}

static void marks(void) {
    struct utimbuf times = {5, 5};
    struct timeval other[2] = {{7, 0}, {7, 0}};
    assert(utime(name, &times) == 0 && state_of(name).st_mtime == 5);
    assert(chmod(name, 0444) == 0 && chmod(name, 0700) == 0);
    assert((state_of(name).st_mode & 0777) == 0700);
    assert(symlink("nowhere", "link.tmp") == 0);
    assert(lutimes("link.tmp", other) == 0 && state_of("link.tmp").st_mtime == 7);
    assert(lchown("link.tmp", getuid(), getgid()) == 0);
    struct timespec exact[2] = {{9, 0}, {9, 0}};
    assert(utimensat(AT_FDCWD, "link.tmp", exact, AT_SYMLINK_NOFOLLOW) == 0);
    assert(state_of("link.tmp").st_mtime == 9);
}

static void devices(void) {
    assert(mkdir("/dev/left-directory.tmp", 0700) == -1 && errno == EACCES);
    assert(symlink("x", "/dev/left.tmp") == -1 && errno == EACCES);
    assert(open("/dev/left.tmp", O_CREAT | O_RDWR, 0600) == -1 && errno == EACCES);
    assert(unlink("/dev/null") == -1 && errno == EPERM);
    assert(rename("/dev/null", "left.tmp") == -1 && errno == EPERM);
    int nothing = open("/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert(nothing >= 0 && write(nothing, "x", 1) == 1 && close(nothing) == 0);
    /* Nor is what was said before. */
    FILE *output = fopen("/dev/stdout", "w");
    assert(output && fputs("said\n", output) > 0 && fclose(output) == 0);
    assert(ftruncate(1, 0) == -1 && ftruncate(1000, 0) == -1 && errno == EBADF);
}

static void temporary(void) {
    char one[] = "tmpXXXXXX.tmp", other[] = "tmpXXXXXX.tmp";
    int first = mkstemps(one, 4), second = mkostemps(other, 4, O_APPEND);
    assert(first >= 0 && second >= 0 && strcmp(one, other) != 0);
    assert(close(first) == 0 && close(second) == 0);
    /* The same in every run, so nobody has left one. */
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    for (int i = 3; i < 9; i++)
        assert(strchr(letters, one[i]));
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, work, 0);
    pthread_create(&other, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    look_first();
    marks();
    devices();
    temporary();
    by_descriptor();
    loops();
}

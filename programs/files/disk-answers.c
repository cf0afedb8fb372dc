// What calls that name files answer after files were changed: as they would by themselves.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <reweave.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#define CHECK(what) reweave_check(what, #what)
#define FAILS(call, error) reweave_check((call) == -1 && errno == (error), #call)

static void make(const char *name, const char *text) {
    int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    CHECK(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(close(file) == 0);
}

static long size_of(const char *name) {
    struct stat found;
    CHECK(stat(name, &found) == 0);
    return found.st_size;
}

static void ends_of_paths(void) {
    struct stat found;
    FAILS(stat("file.tmp/", &found), ENOTDIR);
    FAILS(open("file.tmp/", O_RDONLY), ENOTDIR);
    FAILS(unlink("file.tmp/"), ENOTDIR);
    FAILS(access("none.tmp/../file.tmp", F_OK), ENOENT);
    FAILS(access("file.tmp/../file.tmp", F_OK), ENOTDIR);
    FAILS(open("new.tmp/", O_CREAT | O_RDWR, 0600), EISDIR);
    FAILS(rmdir("dir.tmp/."), EINVAL);
    FAILS(rmdir("link.tmp/"), ENOTDIR);
    FAILS(mkdir("new.tmp/.", 0700), ENOENT);
    CHECK(mkdir("new.tmp/", 0700) == 0 && rmdir("new.tmp/") == 0);
    CHECK(lstat("link.tmp/", &found) == 0 && S_ISDIR(found.st_mode));
    CHECK(lstat("link.tmp", &found) == 0 && S_ISLNK(found.st_mode));
    FAILS(openat(open("file.tmp", O_RDONLY), "x", O_RDONLY), ENOTDIR);
    FAILS(open("file.tmp", O_RDONLY | O_TRUNC | O_DIRECTORY), ENOTDIR);
    CHECK(size_of("file.tmp") == 4);
    FAILS(rename("file.tmp", "file.tmp/x"), ENOTDIR);
    FAILS(rename(".", "x.tmp"), EBUSY);
    FAILS(rename("file.tmp", "x.tmp/"), ENOTDIR);
    FAILS(renameat2(AT_FDCWD, "file.tmp", AT_FDCWD, "file.tmp", RENAME_NOREPLACE), EEXIST);
}

static void links(void) {
    struct stat one, other;
    CHECK(symlink("nowhere.tmp", "lost.tmp") == 0 && link("lost.tmp", "again.tmp") == 0);
    CHECK(lstat("lost.tmp", &one) == 0 && lstat("again.tmp", &other) == 0 && one.st_ino == other.st_ino);
    struct timespec times[2] = {{7, 0}, {8, 0}};
    CHECK(utimensat(AT_FDCWD, "link.tmp", times, AT_SYMLINK_NOFOLLOW) == 0);
    CHECK(lstat("link.tmp", &one) == 0 && one.st_mtime == 8);
    CHECK(stat("link.tmp", &one) == 0 && one.st_mtime != 8);
    struct utimbuf both = {5, 6};
    CHECK(utime("file.tmp", &both) == 0 && stat("file.tmp", &one) == 0);
    CHECK(one.st_atime == 5 && one.st_mtime == 6);
    CHECK(unlink("lost.tmp") == 0 && unlink("again.tmp") == 0);
}

static void names_of_files(void) {
    char here[PATH_MAX], text[PATH_MAX], link[40];
    struct statvfs disk, new;
    CHECK(getcwd(here, sizeof here));
    char *whole = canonicalize_file_name("link.tmp/../file.tmp");
    CHECK(whole && strncmp(whole, here, strlen(here)) == 0 && strcmp(whole + strlen(here), "/file.tmp") == 0);
    int file = open("file.tmp", O_RDONLY);
    sprintf(link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, text, sizeof text);
    CHECK(length == (ssize_t)strlen(whole) && strncmp(text, whole, length) == 0);
    CHECK(realpath(link, text) && strcmp(text, whole) == 0);
    int again = open(link, O_RDWR);
    CHECK(again >= 0 && pwrite(again, "F", 1, 0) == 1 && pread(file, text, 4, 0) == 4);
    CHECK(strncmp(text, "Four", 4) == 0);
    CHECK(statvfs(".", &disk) == 0 && statvfs("file.tmp", &new) == 0 && disk.f_fsid == new.f_fsid);
    close(again);
    close(file);
    free(whole);
}

static void without_names(void) {
    struct stat found;
    int file = open(".", O_TMPFILE | O_RDWR, 0600);
    CHECK(file >= 0 && write(file, "new", 3) == 3);
    char link[40];
    sprintf(link, "/proc/self/fd/%d", file);
    CHECK(linkat(AT_FDCWD, link, AT_FDCWD, "named.tmp", AT_SYMLINK_FOLLOW) == 0);
    CHECK(size_of("named.tmp") == 3);
    CHECK(unlink("named.tmp") == 0 && fstat(file, &found) == 0 && found.st_nlink == 0);
    close(file);
}

static int listed(DIR *directory, const char *name) {
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        count += strcmp(entry->d_name, name) == 0;
    return count;
}

static void listing(DIR *directory) {
    rewinddir(directory);
    CHECK(listed(directory, "file.tmp") == 1);
    closedir(directory);
}

static void copies(const char *self) {
    int from = open(self, O_RDONLY), to = open("copy.tmp", O_CREAT | O_RDWR, 0600);
    loff_t start = 1, end = 2;
    CHECK(copy_file_range(from, &start, to, &end, 3, 0) == 3 && start == 4 && end == 5);
    char text[8] = "";
    CHECK(pread(to, text, 7, 0) == 5 && memcmp(text, "\0\0ELF", 5) == 0);
    CHECK(copy_file_range(from, 0, to, 0, 2, 0) == 2 && lseek(from, 0, SEEK_CUR) == 2);
    CHECK(copy_file_range(to, 0, from, 0, 2, 0) == -1 && errno == EBADF);
    close(from);
    close(to);
    unlink("copy.tmp");
}

int main(int count, char **arguments) {
    // Before anything was changed.
    DIR *directory = opendir(".");
    make("file.tmp", "four");
    CHECK(mkdir("dir.tmp", 0700) == 0 && symlink("dir.tmp", "link.tmp") == 0);
    listing(directory);
    ends_of_paths();
    links();
    names_of_files();
    without_names();
    copies(arguments[count - 1]);
    CHECK(unlink("file.tmp") == 0 && unlink("link.tmp") == 0 && rmdir("dir.tmp") == 0);
}

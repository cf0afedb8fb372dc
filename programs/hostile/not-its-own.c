/* Numbers of descriptors that the program never opened stand for nothing, also those that the runtime uses itself; where output goes is a pipe, as far as the
 * program can tell, and cannot be cut, filled or read. */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int turns;
static char room[8];
static struct iovec parts[] = {{room, sizeof room}};
static struct stat about;

#define FAILS(why, call) (errno = 0, assert((long)(call) == -1 && errno == why))

static void try_all(int file) {
    FAILS(EBADF, write(file, "x", 1));
    FAILS(EBADF, pwrite(file, "x", 1, 0));
    FAILS(EBADF, writev(file, parts, 1));
    FAILS(EBADF, dprintf(file, "x"));
    FAILS(EBADF, read(file, room, 1));
    FAILS(EBADF, pread(file, room, 1, 0));
    FAILS(EBADF, readv(file, parts, 1));
    FAILS(EBADF, lseek(file, 0, SEEK_SET));
    FAILS(EBADF, ftruncate(file, 0));
    FAILS(EBADF, fallocate(file, 0, 0, 1));
    assert(posix_fallocate(file, 0, 1) == EBADF);
    FAILS(EBADF, fcntl(file, F_GETFD));
    FAILS(EBADF, fcntl(file, F_SETFL, O_APPEND));
    FAILS(EBADF, fcntl(file, F_DUPFD, 0));
    FAILS(EBADF, dup(file));
    FAILS(EBADF, dup2(file, 50));
    FAILS(EBADF, close(file));
    FAILS(EBADF, flock(file, LOCK_EX | LOCK_NB));
    FAILS(EBADF, isatty(file) - 1);
    FAILS(EBADF, fstat(file, &about));
    FAILS(EBADF, fsync(file));
    FAILS(EBADF, fdatasync(file));
    FAILS(EBADF, syncfs(file));
    FAILS(EBADF, fchmod(file, 0600));
    FAILS(EBADF, fchown(file, 0, 0));
    FAILS(EBADF, futimens(file, NULL));
    FAILS(EBADF, fchdir(file));
    FAILS(EBADF, ioctl(file, FIONREAD, room));
    FAILS(EBADF, openat(file, "x", O_RDONLY));
    FAILS(EBADF, fstatat(file, "x", &about, 0));
    FAILS(EBADF, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    if (file >= 1000)
        FAILS(EBADF, syscall(SYS_ftruncate, file, 0));
    assert(!fdopen(file, "w") && errno == EBADF);
    assert(!fdopendir(file) && errno == EBADF);
}

static void try_output(int file) {
    FAILS(EINVAL, ftruncate(file, 0));
    FAILS(ESPIPE, fallocate(file, 0, 0, 1L << 40));
    assert(posix_fallocate(file, 0, 1L << 40) == ESPIPE);
    FAILS(EBADF, read(file, room, 1));
    FAILS(EBADF, readv(file, parts, 1));
    FAILS(ESPIPE, pread(file, room, 1, 0));
    FAILS(ESPIPE, pwrite(file, "x", 1, 0));
    FAILS(ESPIPE, pwritev(file, parts, 1, 0));
    FAILS(ESPIPE, lseek(file, 0, SEEK_SET));
    FAILS(EACCES, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
}

/* Before `main` as well. */
__attribute__((constructor)) static void begins(void) {
    FAILS(EBADF, ftruncate(1000, 0));
    FAILS(EBADF, syscall(SYS_ftruncate, 1000, 0));
    FAILS(EBADF, fsync(1001));
}

static void *harms(void *unused) {
    (void)unused;
    atomic_fetch_add(&turns, 1);
    for (int file = 900; file < 1100; file += file < 990 || file > 1020 ? 10 : 1)
        try_all(file);
    try_output(1);
    try_output(2);
    try_output(dup(1));
    return NULL;
}

static void *counts(void *unused) {
    (void)unused;
    atomic_fetch_add(&turns, 1);
    return NULL;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, harms, NULL);
    pthread_create(&other, NULL, counts, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    puts("done");
    return 0;
}

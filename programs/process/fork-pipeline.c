/* Three processes, each but the last writing to the next one, by their standard streams. With KEPT the second keeps an end for writing to itself. */
#include <assert.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void stage(int in, int out, char add) {
    char bytes[8];
    ssize_t got;
    while ((got = read(in, bytes, sizeof bytes)) > 0) { /* <- */
        for (int i = 0; i < got; i++) bytes[i] += add;
        assert(write(out, bytes, got) == got);
    }
}

int main(void) {
    int first[2], second[2];
    if (pipe(first) || pipe(second)) return 1;
    pid_t source = fork();
    if (source == 0) {
        dup2(first[1], STDOUT_FILENO);
        close(first[0]);
        close(first[1]);
        close(second[0]);
        close(second[1]);
        _exit(write(STDOUT_FILENO, "abc", 3) != 3);
    }
    pid_t filter = fork();
    if (filter == 0) {
        dup2(first[0], STDIN_FILENO);
        dup2(second[1], STDOUT_FILENO);
        close(first[0]);
#ifndef KEPT
        close(first[1]);
#endif
        close(second[0]);
        close(second[1]);
        stage(STDIN_FILENO, STDOUT_FILENO, 1);
        _exit(0);
    }
    close(first[0]);
    close(first[1]);
    close(second[1]);
    char all[8];
    size_t length = 0;
    ssize_t got;
    while ((got = read(second[0], all + length, sizeof all - length)) > 0) length += got; /* <- */
    assert(length == 3 && memcmp(all, "bcd", 3) == 0);
    int status;
    assert(waitpid(source, &status, 0) == source && status == 0);
    assert(waitpid(filter, &status, 0) == filter && status == 0);
    return 0;
}

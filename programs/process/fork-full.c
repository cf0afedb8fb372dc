/* Two processes write more than a pipe has room for, each to the other, before they read. FIXED: one of them reads first. */
#include <sys/wait.h>
#include <unistd.h>

static char block[65536];

static void send_all(int out) {
    write(out, block, sizeof block);
    write(out, block, 1); /* <- there is no room */
}

static void take_all(int in) {
    ssize_t left = sizeof block + 1;
    while (left > 0) {
        ssize_t got = read(in, block, sizeof block);
        if (got <= 0) _exit(1);
        left -= got;
    }
}

int main(void) {
    int there[2], back[2];
    pipe(there);
    pipe(back);
    pid_t child = fork();
    if (child == 0) {
#ifdef FIXED
        take_all(there[0]);
        send_all(back[1]);
#else
        send_all(back[1]);
        take_all(there[0]);
#endif
        _exit(0);
    }
    send_all(there[1]);
    take_all(back[0]);
    int status;
    waitpid(child, &status, 0);
    return status != 0;
}

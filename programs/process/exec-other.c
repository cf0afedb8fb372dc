/* `exec` of a program that is not the one that is checked. With FIRST the first process begins again. */
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc > 1) return 0;
#ifdef FIRST
    if (fork() == 0) _exit(0);
    wait(NULL);
    execl("/proc/self/exe", argv[0], "again", (char *)NULL);
#else
    if (fork() == 0) execl("/bin/true", argv[0], (char *)NULL);
    wait(NULL);
#endif
    return 0;
}

/* Two workers, each the program again, write a letter to one pipe, which their parent reads when both have ended. With SURE it relies on
   their order. */
#include <assert.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int ends[2], status;
    pid_t children[2];
    char letters[3] = {0};
    if (argc > 1) return write(STDOUT_FILENO, argv[1], 1) != 1;
    if (pipe(ends) != 0) return 1;
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            dup2(ends[1], STDOUT_FILENO);
            execl("/proc/self/exe", argv[0], i ? "b" : "a", (char *)NULL);
            _exit(2);
        }
    }
    for (int i = 0; i < 2; i++) assert(waitpid(children[i], &status, 0) > 0 && status == 0);
    assert(read(ends[0], letters, 2) == 2);
#ifdef SURE
    assert(letters[0] == 'a'); /* <- */
#else
    assert(letters[0] + letters[1] == 'a' + 'b');
#endif
    return 0;
}

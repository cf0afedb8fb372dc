/* Processes share a counter: two children add to it, their parent takes all there is until it has both. */
#include <assert.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int counter = eventfd(0, 0);
    pid_t children[2];
    for (int i = 1; i <= 2; i++)
        if ((children[i - 1] = fork()) == 0) {
            uint64_t number = i;
            _exit(write(counter, &number, sizeof number) != sizeof number);
        }
    uint64_t sum = 0;
    while (sum < 3) {
        uint64_t number;
        assert(read(counter, &number, sizeof number) == sizeof number);
        sum += number;
    }
    assert(sum == 3);
    for (int i = 0; i < 2; i++) assert(waitpid(children[i], NULL, 0) == children[i]);
    return 0;
}

// A program without threads: one execution, which says what the program's arguments are.
#include <assert.h>
#include <string.h>

int main(int argc, char **argv) {
    assert(argc == 3);
    assert(strcmp(argv[1], "one") == 0 && strcmp(argv[2], "two words") == 0);
    return 0;
}

// Has a file open for writing before main, and writes to it by two threads: it could not be put back.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

static FILE *early = std::tmpfile();

int main() {
    if (!early)
        return EXIT_FAILURE;
    std::thread thread([] { std::fputs("from a thread", early); });
    if (write(fileno(early), "from main", 9) != 9)
        return EXIT_FAILURE;
    thread.join();
}

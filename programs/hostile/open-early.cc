// Opens a file for writing before main, and writes to it by two threads: nothing may reach the file itself.
#include <cstdlib>
#include <fstream>
#include <thread>

static std::ofstream early("disk.txt", std::ios::app);

int main() {
    if (!early)
        return EXIT_FAILURE;
    std::thread thread([] { early << "from a thread" << std::flush; });
    thread.join();
    early << "from main" << std::flush;
}

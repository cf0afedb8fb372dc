// A std::thread that is destroyed before it is joined: in one order main leaves early by an exception, and the program is ended.
#include <atomic>
#include <stdexcept>
#include <thread>

static std::atomic<bool> ready;

static void run() {
    std::thread thread([] { ready = true; });
    if (!ready)
        throw std::runtime_error("not ready"); // the destructor of `thread` ends the program
    thread.join();
}

int main() {
    try {
        run();
    } catch (const std::runtime_error &) {
        return 0;
    }
}

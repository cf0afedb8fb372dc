// An exception that nobody catches, in one order of two: it ends the program from within a thread.
#include <atomic>
#include <stdexcept>
#include <thread>

static std::atomic<int> stage;

int main() {
    std::thread first([] { stage = 1; });
    std::thread second([] {
        if (stage == 0)
            throw std::logic_error("the first stage is not over");
    });
    first.join();
    second.join();
}

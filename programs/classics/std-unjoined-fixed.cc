// std-unjoined.cc put right: std::jthread joins by itself.
#include <atomic>
#include <stdexcept>
#include <thread>

static std::atomic<bool> ready;

static void run() {
    std::jthread thread([] { ready = true; });
    if (!ready)
        throw std::runtime_error("not ready");
}

int main() {
    try {
        run();
    } catch (const std::runtime_error &) {
        return 0;
    }
}

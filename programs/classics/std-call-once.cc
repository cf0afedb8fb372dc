// std::call_once: an attempt that throws does not count; one that succeeds is the only one, and all wait for it.
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::once_flag flag;
static int attempts, successes;

static void prepare() {
    if (++attempts == 1)
        throw std::runtime_error("not yet");
    successes++;
}

static void use() {
    try {
        std::call_once(flag, prepare);
    } catch (const std::runtime_error &) {
        std::call_once(flag, prepare);
    }
    assert(successes == 1);
}

int main() {
    std::thread a(use), b(use);
    a.join();
    b.join();
    assert(attempts == 2);
}

// std-uncaught.cc put right: the thread hands its exception to the one who joins it. Destructors run on the way.
#include <atomic>
#include <cassert>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>

static std::atomic<int> stage;

int main() {
    std::exception_ptr failure;
    bool cleaned = false;
    std::thread first([] { stage = 1; });
    std::thread second([&] {
        try {
            std::unique_ptr<bool, void (*)(bool *)> guard(&cleaned, [](bool *done) { *done = true; });
            if (stage == 0)
                throw std::logic_error("the first stage is not over");
        } catch (...) {
            failure = std::current_exception();
        }
    });
    first.join();
    second.join();
    assert(cleaned);
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (const std::logic_error &) {
    }
}

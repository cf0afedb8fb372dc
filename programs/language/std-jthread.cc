// std::jthread: asked to stop, it does; its end is waited for.
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

static std::mutex lock;
static std::condition_variable_any changed;

int main() {
    bool stopped = false;
    {
        std::jthread worker([&](std::stop_token token) {
            std::unique_lock guard(lock);
            changed.wait(guard, token, [] { return false; });
            assert(token.stop_requested());
            stopped = true;
        });
    }
    assert(stopped);
}

// std-shared-ptr.cc put right: every thread has a pointer of its own to what they share; the last to let go destroys it, once.
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>
#include <utility>

static std::atomic<int> destroyed;

struct Thing {
    int value = 1;
    ~Thing() {
        assert(value == 1);
        destroyed++;
    }
};

int main() {
    auto first = std::make_shared<Thing>();
    auto second = first;
    std::thread a([mine = std::move(first)]() mutable { mine.reset(); });
    std::thread b([mine = std::move(second)]() mutable {
        std::shared_ptr<Thing> copy = mine;
        assert(copy->value == 1);
    });
    a.join();
    b.join();
    assert(destroyed == 1);
}

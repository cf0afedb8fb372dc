// std::atomic<std::shared_ptr> and std::atomic<std::weak_ptr> have a lock of their own: what they point to does not.
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>

static std::atomic<std::shared_ptr<int>> shared;
static std::atomic<std::weak_ptr<int>> weak;

int main() {
    auto first = std::make_shared<int>(1);
    shared.store(first);
    weak.store(first);
    std::thread writer([] {
#if defined(EXCHANGED)
        std::shared_ptr<int> seen, next = std::make_shared<int>(2);
        assert(!shared.compare_exchange_strong(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed));
        assert(shared.compare_exchange_strong(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed));
        assert(*next == 2 && *seen == 1);
#elif defined(WEAK)
        weak.store(std::weak_ptr<int>());
#elif defined(INSIDE)
        *shared.load() = 2; // <-
#else
        shared.store(std::make_shared<int>(2), std::memory_order_release);
#endif
    });
#if defined(WEAK)
    std::shared_ptr<int> other = weak.load().lock();
    assert(!other || other == first);
#else
    std::shared_ptr<int> mine = shared.load(std::memory_order_acquire);
    assert(*mine == 1 || *mine == 2); // <-
#endif
    writer.join();
    shared.store(nullptr);
}

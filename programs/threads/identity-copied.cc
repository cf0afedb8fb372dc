// A thread that is created after another was joined may have its id. Here it never has, so the search is not complete where an id of
// the first one is left: in a variable, a container or another thread.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#ifndef WHERE
#define WHERE 0
#endif

static void nothing() {}

#if WHERE == 0
int main() {
    std::thread first(nothing);
    auto id = first.get_id();
    first.join();
    std::thread second(nothing);
    bool same = second.get_id() == id;
    second.join();
    assert(!same);
}
#elif WHERE == 1
static std::set<std::thread::id> seen;

int main() {
    for (int i = 0; i < 2; i++) {
        std::thread thread(nothing);
        seen.insert(thread.get_id());
        thread.join();
    }
    assert(seen.size() == 2);
}
#elif WHERE == 2
// The thread that keeps the id waits while main creates and compares.
static std::mutex lock;
static std::condition_variable changed;
static int step;
static std::thread first, second;

static void await(int expected) {
    std::unique_lock<std::mutex> hold(lock);
    changed.wait(hold, [expected] { return step == expected; });
}

static void go_on() {
    std::lock_guard<std::mutex> hold(lock);
    step++;
    changed.notify_all();
}

static void keep() {
    auto id = first.get_id();
    go_on();
    await(2);
    assert(second.get_id() != id);
}

int main() {
    first = std::thread(nothing);
    std::thread keeper(keep);
    await(1);
    first.join();
    second = std::thread(nothing);
    go_on();
    keeper.join();
    second.join();
}
#elif WHERE == 3
// One thread creates and compares, another one joins, in any order.
int main() {
    std::thread first(nothing);
    auto id = first.get_id();
    std::thread joiner([moved = std::move(first)]() mutable { moved.join(); });
    std::thread second(nothing);
    assert(second.get_id() != id);
    second.join();
    joiner.join();
}
#else
// A thread that is detached may have ended.
int main() {
    std::thread first(nothing);
    auto id = first.get_id();
    first.detach();
    std::thread second(nothing);
    assert(second.get_id() != id);
    second.join();
    pthread_exit(nullptr);
}
#endif

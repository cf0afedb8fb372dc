// std::atomic::wait and notify: with NOTIFY 0 nobody is woken, which is noticed only by one that has gone to sleep.
#include <atomic>
#include <cassert>
#include <thread>

#ifndef NOTIFY
#define NOTIFY 1
#endif

static std::atomic<int> flag;
static int data;

int main() {
    std::thread waiter([] {
        flag.wait(0);
        assert(data == 1);
    });
    data = 1;
    flag.store(1);
    if (NOTIFY)
        flag.notify_one();
    waiter.join();
}

// std::counting_semaphore: one thread gives, the other takes; or (TIMED) tries to for a while.
#include <cassert>
#include <chrono>
#include <semaphore>
#include <thread>

#ifndef TIMED
#define TIMED 0
#endif

static std::counting_semaphore<3> items(0);
static int item;

int main() {
    std::thread taker([] {
        bool taken = true;
        if (TIMED)
            taken = items.try_acquire_for(std::chrono::seconds(1));
        else
            items.acquire();
        if (taken)
            assert(item == 1);
    });
    item = 1;
    items.release();
    taker.join();
}

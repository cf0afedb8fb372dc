// std::counting_semaphore: a ring between two threads, ordered by the counts alone.
#include <cassert>
#include <semaphore>
#include <thread>

#ifndef N
#define N 2
#endif

int main() {
    std::counting_semaphore<1> room(1), elements(0);
    int place = 0;
    std::thread producer([&] {
        for (int i = 1; i <= N; i++) {
            room.acquire();
            place = i;
            elements.release();
        }
    });
    for (int i = 1; i <= N; i++) {
        elements.acquire();
        assert(place == i);
        room.release();
    }
    producer.join();
}

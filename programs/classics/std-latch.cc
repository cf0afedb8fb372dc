// A latch that waits for one more than there are.
#include <latch>
#include <thread>

int main() {
    std::latch arrived(3);
    std::thread a([&] { arrived.count_down(); });
    std::thread b([&] { arrived.count_down(); });
    arrived.wait(); // <- the third does not exist
    a.join();
    b.join();
}

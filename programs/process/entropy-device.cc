// std::random_device has the same numbers in every run, and each thread has its own: 1 execution.
#include <cassert>
#include <random>
#include <thread>

static unsigned draw() {
    std::random_device device;
    unsigned first = device();
    // A coincidence is as likely as one in 2^32.
    assert(first != device());
    return first;
}

int main() {
    unsigned other = 0;
    std::thread thread([&] { other = draw(); });
    unsigned own = draw();
    thread.join();
    return own == other;
}

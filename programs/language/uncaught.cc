// Uncaught exceptions end the program, with what they say of themselves.
#include <reweave.h>
#include <stdexcept>
#include <thread>

struct Base {
    virtual ~Base() = default;
    int number = 0;
};

struct Odd : Base, std::runtime_error {
    Odd() : std::runtime_error("odd number") {}
};

static void fail() { throw Odd(); } // <-

int main() {
    std::thread thread([] {
        try {
            fail();
        } catch (const std::logic_error &) {
        }
    });
    thread.join();
}

// Two threads call an initialiser that throws the first time: by std::call_once, or (STATIC) as that of a function-local static.
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <thread>

#ifndef STATIC
#define STATIC 0
#endif

static int attempts;

struct Value {
    int value;
    Value() {
        if (++attempts == 1)
            throw std::runtime_error("not yet");
        value = 7;
    }
};

static Value &get() {
    static Value value;
    return value;
}

static std::once_flag flag;
static int made;

static void use() {
    for (;;) {
        try {
            if (STATIC) {
                assert(get().value == 7);
            } else {
                std::call_once(flag, [] {
                    Value value;
                    made = value.value;
                });
                assert(made == 7);
            }
            return;
        } catch (const std::runtime_error &) {
        }
    }
}

int main() {
    std::thread one(use), two(use);
    one.join();
    two.join();
    assert(attempts == 2);
}

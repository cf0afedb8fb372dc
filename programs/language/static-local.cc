// Several threads come to a function-local static at once: one makes it, the others see it made.
#include <cassert>
#include <thread>
#include <vector>

#ifndef N
#define N 2
#endif

static int made;

struct Value {
    std::vector<int> values;
    Value() : values{1, 2, 3} { made++; }
};

static const Value &get() {
    static Value value;
    return value;
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < N; i++)
        threads.emplace_back([] { assert(get().values.size() == 3); });
    for (auto &thread : threads)
        thread.join();
    assert(made == 1);
}

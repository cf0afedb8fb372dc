// thread_local objects: constructed on first use in a thread, destroyed when it ends.
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> alive, made;

struct Mine {
    int value = 0;
    Mine() {
        alive++;
        made++;
    }
    ~Mine() { alive--; }
};

static thread_local Mine mine;

static void use(int value) {
    assert(mine.value == 0);
    mine.value = value;
    assert(alive >= 1);
    assert(mine.value == value);
}

int main() {
    std::thread a(use, 1), b(use, 2);
    a.join();
    b.join();
    assert(alive == 0 && made == 2);
}

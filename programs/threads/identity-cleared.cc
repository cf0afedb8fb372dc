// Ids of threads that are alive are compared, and none is left when its thread is joined.
#include <cassert>
#include <thread>
#include <vector>

static void nothing() {}

int main() {
    std::vector<std::thread> threads;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++)
            threads.push_back(std::thread(nothing));
        assert(threads[0].get_id() != threads[1].get_id());
        for (auto &thread : threads)
            thread.join();
        threads.clear();
    }
}

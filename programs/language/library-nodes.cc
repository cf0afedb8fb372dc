// The links of a tree and of a list, which are followed and changed by code of the C++ library that has no hooks. WAY: 1, a step beside an
// insertion that the library rebalances the tree for; 2, a step beside a removal; 3, a step back; 4, an insertion into a list beside a
// step; 5, the same with splice. Without it: all of them under a mutex, and iterations by two threads at once.
#include <list>
#include <map>
#include <mutex>
#include <reweave.h>
#include <set>
#include <thread>

static std::map<int, int> tree{{1, 1}, {5, 5}, {9, 9}};
static std::list<int> list{1, 2}, more{7, 8};
static volatile int seen;

int main() {
#if WAY == 1
    auto it = tree.find(5);
    std::thread thread([] {
        tree.emplace_hint(tree.end(), 7, 7); // <-
    });
    ++it; // <-
    seen = it == tree.end();
    thread.join();
#elif WAY == 2
    auto it = tree.find(5);
    std::thread thread([gone = tree.find(9)] {
        tree.erase(gone); // <-
    });
    ++it; // <-
    seen = it == tree.end();
    thread.join();
#elif WAY == 3
    auto it = tree.find(5);
    std::thread thread([] {
        tree.emplace_hint(tree.begin(), 0, 0); // <-
    });
    --it; // <-
    seen = it == tree.begin();
    thread.join();
#elif WAY == 4
    auto it = list.begin();
    ++it;
    std::thread thread([] {
        list.push_back(3); // <-
    });
    ++it; // <-
    thread.join();
#elif WAY == 5
    auto it = list.begin();
    ++it;
    std::thread thread([] {
        list.splice(list.end(), more, more.begin()); // <-
    });
    ++it; // <-
    thread.join();
#else
    static std::mutex mutex;
    static const std::set<int> numbers{1, 2, 3, 4, 5, 6, 7};
    auto work = [](int from) {
        int sum = 0;
        for (int number : numbers)
            sum += number;
        for (auto it = numbers.rbegin(); it != numbers.rend(); ++it)
            sum += *it;
        reweave_check(sum == 56, "a step goes elsewhere");
        std::lock_guard lock(mutex);
        for (int key = from; key < from + 20; key += 2)
            tree[key] = key;
        for (int key = from; key < from + 16; key += 2)
            tree.erase(key);
        list.push_front(from);
        list.reverse();
        list.sort();
        list.remove(from);
    };
    std::thread one(work, 10), two(work, 11);
    one.join();
    two.join();
    int sum = 0, last = 0;
    for (auto [key, value] : tree) {
        reweave_check(key > last && key == value, "the order is wrong");
        last = key;
        sum += key;
    }
    // What is left: 1, 5, 9, and 26 to 29.
    reweave_check(sum == 125 && tree.size() == 7, "something is missing");
    reweave_check(list.size() == 2 && list.front() == 1, "the list is wrong");
#endif
}

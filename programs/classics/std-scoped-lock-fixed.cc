// std-scoped-lock.cc put right: both locks by std::scoped_lock, in the order of their addresses.
#include <cassert>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

struct Account {
    std::mutex mutex;
    int balance = 100;
};

static void transfer(Account &from, Account &to, int amount) {
    Account *low = &from, *high = &to;
    if (std::less<>{}(high, low))
        std::swap(low, high);
    std::scoped_lock both(low->mutex, high->mutex);
    from.balance -= amount;
    to.balance += amount;
}

int main() {
    Account accounts[2];
    std::thread a([&] { transfer(accounts[0], accounts[1], 10); });
    std::thread b([&] { transfer(accounts[1], accounts[0], 20); });
    a.join();
    b.join();
    assert(accounts[0].balance == 110 && accounts[1].balance == 90);
}

// Two threads see the machine idle and both start it.
#include <atomic>
#include <cassert>
#include <thread>

enum class State { Idle, Starting, Running };

class Machine {
    std::atomic<State> state_{State::Idle};
    std::atomic<int> starts_{0};

  public:
    void start() {
        if (state_.load() != State::Idle)
            return;
        state_.store(State::Starting);
        int before = starts_.fetch_add(1);
        assert(before == 0);
        state_.store(State::Running);
    }
};

static Machine machine;

static void operate() { machine.start(); }

int main() {
    std::thread first(operate), second(operate);
    first.join();
    second.join();
}

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "expect.h"

struct Base {
    int id;
    virtual ~Base() = default;
    virtual int run() { return id; }
};

struct Mixin {
    long weight;
};

class Job : public Base, public Mixin {
  public:
    int run() override
    {
        FRAMES("Job::run");
        return level;
    }
    int level;
    std::mutex lock;
    static int made;
    static inline std::atomic<int> alive;
};
int Job::made;

template <typename T, int N> struct Ring {
    T items[N];
    std::atomic<int> head;
    std::condition_variable filled;
    static int rings;
    __attribute__((noinline)) bool push(T item)
    {
        FRAMES("Ring<int, 4>::push");
        static T last;
        VARIABLE_AS(last, "Ring<int, 4>::push::last");
        items[0] = last = item;
        return true;
    }
};
template <typename T, int N> int Ring<T, N>::rings;

struct Empty {};
struct Guarded : Empty {
    std::mutex lock;
    int value;
} guarded;

struct Root {
    int root;
};
struct Left : virtual Root {
    int left;
};

namespace app {
struct Config {
    std::string name;
    std::vector<int> sizes;
    std::array<std::pair<int, Mixin>, 3> pairs;
    std::optional<int> limit;
    std::unique_ptr<int> owner;
};
Config config;
namespace {
int hidden;
__attribute__((noinline)) void unnamed()
{
    static int times;
    FRAMES("app::unnamed");
    VARIABLE_AS(times, "app::unnamed::times");
}
} // namespace
inline namespace v2 {
std::atomic<bool> done;
}
struct Pool {
    int used = 0;
    static Pool &instance()
    {
        static Pool one;
        VARIABLE_AS(one.used, "app::Pool::instance::one.used");
        return one;
    }
};
} // namespace app

Job job;
Job jobs[2];
Ring<int, 4> ring;
std::mutex lock;
std::atomic<long> total;
std::atomic<Mixin> mixin;
std::thread worker;
static std::shared_ptr<int> shared;
int &reference = app::hidden;
Left left;
typedef long Row[3];
Row rows[2];
static union {
    int one;
    char two;
};
Ring<std::string, 2> names;
thread_local std::vector<int> scratch;
thread_local int depth;

template <typename T> static inline __attribute__((always_inline)) T twice(T x)
{
    FRAMES("twice<int> user");
    return x + x;
}

__attribute__((noinline)) static int user(int x)
{
    return twice(x);
}

static void objects()
{
    VARIABLE(job.id);
    VARIABLE(job.weight);
    VARIABLE(job.level);
    VARIABLE(job.lock);
    access_to(&job, 8, "job.vptr");
    VARIABLE(jobs[1].level);
    VARIABLE(Job::made);
    VARIABLE(Job::alive);
    VARIABLE(ring.items[2]);
    VARIABLE(ring.head);
    VARIABLE(ring.filled);
    VARIABLE_AS(decltype(ring)::rings, "Ring<int, 4>::rings");
    VARIABLE(app::config.name);
    access_to((char *)&app::config.name + 8, 8, "app::config.name");
    access_to((char *)&app::config.name + 16, 1, "app::config.name");
    access_to((char *)&app::config.sizes + 8, 8, "app::config.sizes");
    VARIABLE(app::config.pairs[1].first);
    VARIABLE(app::config.pairs[2].second.weight);
    VARIABLE(app::config.limit);
    VARIABLE(app::config.owner);
    VARIABLE_AS(app::hidden, "app::hidden");
    VARIABLE(app::done);
    VARIABLE(lock);
    access_to((char *)&lock + 4, 4, "lock");
    VARIABLE(total);
    VARIABLE(mixin);
    VARIABLE(worker);
    VARIABLE(shared);
    access_to(&guarded, 1, "guarded.lock");
    VARIABLE(guarded.lock);
    VARIABLE(guarded.value);
    VARIABLE(guarded);
    VARIABLE(left.left);
    VARIABLE(rows[1][2]);
    VARIABLE(rows[1]);
    VARIABLE(one);
#ifndef __clang__ /* which tells nothing about a type that the library has compiled */
    VARIABLE(names.items[1]);
#endif
    VARIABLE_AS(decltype(names)::rings, "Ring<std::string, 2>::rings");
    THREAD(scratch);
    THREAD(depth);
}

int main()
{
    Job *made = &job;
    asm volatile("" : "+r"(made));
    made->run();
    ring.push(user(1));
    app::unnamed();
    app::Pool::instance();
    objects();

    int caught = 3;
    std::mutex local_lock;
    asm volatile("" : : "r"(&caught), "r"(&local_lock) : "memory");
    LOCAL(caught);
    LOCAL(local_lock);
    auto call = [&caught, level = 4](int) __attribute__((noinline)) {
        static int calls;
        FRAMES("main::{lambda}");
        VARIABLE_AS(calls, "main::{lambda}::calls");
        return caught + level;
    };
    asm volatile("" : : "r"(&call) : "memory");
    call(1);
    local_at((char *)&call + 8 - (char *)__builtin_dwarf_cfa(), 4, "call.level");
    return 0;
}

//! Families and meetings of C++20. As in `families.rs` and `meetings.rs`; `$ns` is a number of nanoseconds to wait.
//!
//! `std::lock` and `std::scoped_lock` of several mutexes are left out: two threads can back off from each other any number of times, and each
//! number is a class (docs/limits.md).

use super::families::{
    Family,
    Place::{Anywhere, Outside},
};
use super::meetings::Meeting;

pub const INCLUDES: &str = "#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>
using Time = std::chrono::nanoseconds;
";

const MUTEXES: Family = Family {
    name: "C++ mutexes",
    cxx: true,
    globals: "static std::optional<std::timed_mutex> tm; static std::optional<std::recursive_mutex> rm; static std::optional<std::shared_timed_mutex> sm; static int held[3];",
    setup: "tm.emplace(); rm.emplace(); sm.emplace(); held[0] = held[1] = held[2] = 0;",
    teardown: "tm.reset(); rm.reset(); sm.reset();",
    steps: &[
        (
            Outside,
            "{ delay(); std::lock_guard lock(*tm); REC(held[0]++); $i }",
        ),
        (
            Anywhere,
            "{ delay(); std::unique_lock lock(*tm, std::try_to_lock); REC(lock.owns_lock()); if (lock) REC(held[0]++); }",
        ),
        (
            Outside,
            "{ delay(); std::unique_lock lock(*tm, Time($ns)); REC(lock.owns_lock()); if (lock) { REC(held[0]++); $i } }",
        ),
        (
            Outside,
            "{ delay(); std::lock_guard one(*rm); std::lock_guard two(*rm); REC(held[1]++); $i }",
        ),
        (
            Anywhere,
            "{ delay(); bool r = rm->try_lock(); REC(r); if (r) { REC(held[1]++); rm->unlock(); } }",
        ),
        (
            Outside,
            "{ delay(); std::shared_lock lock(*sm); REC(held[2]); $i REC(held[2]); }",
        ),
        (
            Outside,
            "{ delay(); std::unique_lock lock(*sm); REC(held[2]++); $i }",
        ),
        (
            Anywhere,
            "{ delay(); std::shared_lock lock(*sm, std::try_to_lock); REC(lock.owns_lock()); if (lock) REC(held[2]); }",
        ),
        (
            Outside,
            "{ delay(); bool r = sm->try_lock_for(Time($ns)); REC(r); if (r) { REC(held[2]++); sm->unlock(); } }",
        ),
        (
            Outside,
            "{ delay(); bool r = sm->try_lock_shared_for(Time($ns)); REC(r); if (r) { REC(held[2]); sm->unlock_shared(); } }",
        ),
    ],
};

const ATOMIC_REF: Family = Family {
    name: "atomic_ref",
    cxx: true,
    globals: "static int referred[2]; static std::atomic<bool> bit; static std::atomic_flag mark;",
    setup: "referred[0] = referred[1] = 0; bit = false; mark.clear();",
    teardown: "REC(referred[0]); REC(referred[1]);",
    steps: &[
        (
            Anywhere,
            "REC(std::atomic_ref<int>(referred[$a]).fetch_add($k));",
        ),
        (
            Anywhere,
            "REC(std::atomic_ref<int>(referred[$a]).exchange($k));",
        ),
        (
            Anywhere,
            "{ int old = 0; REC(std::atomic_ref<int>(referred[$a]).compare_exchange_strong(old, $k)); REC(old); }",
        ),
        (
            Anywhere,
            "DO(std::atomic_ref<int>(referred[$a]).store($k));",
        ),
        (Anywhere, "REC(bit.exchange($a));"),
        (Anywhere, "REC(mark.test_and_set());"),
        (Anywhere, "REC(mark.test()); DO(mark.clear());"),
    ],
};

const STOPPING: Family = Family {
    name: "stop tokens",
    cxx: true,
    globals: "static std::optional<std::stop_source> source; static std::atomic<int> stopped;",
    setup: "source.emplace(); stopped = 0;",
    teardown: "REC(stopped.load()); source.reset();",
    steps: &[
        (Anywhere, "REC(source->request_stop());"),
        (Anywhere, "REC(source->get_token().stop_requested());"),
        (
            Outside,
            "{ delay(); std::stop_callback call(source->get_token(), [] { stopped++; }); REC(stopped.load()); $i }",
        ),
        (
            Outside,
            "{ std::jthread child([](std::stop_token token) { if (token.stop_requested()) stopped += 10; delay(); stopped += 100; }); REC(stopped.load()); if ($a) REC(child.request_stop()); $i } REC(stopped.load());",
        ),
    ],
};

/// Without `acquire`: that of libstdc++ 12 may sleep for ever when another thread takes and gives back meanwhile, and Reweave reports it.
const CXX_SEMAPHORES: Family = Family {
    name: "C++ semaphores",
    cxx: true,
    globals: "static std::optional<std::counting_semaphore<8>> cs; static std::optional<std::binary_semaphore> bs;",
    setup: "cs.emplace(1); bs.emplace(1);",
    teardown: "cs.reset(); bs.reset();",
    steps: &[
        (
            Anywhere,
            "{ delay(); bool r = cs->try_acquire(); REC(r); if (r) DO(cs->release()); }",
        ),
        (Anywhere, "DO(cs->release());"),
        (
            Outside,
            "{ delay(); bool r = cs->try_acquire_for(Time($ns)); REC(r); if (r) DO(cs->release()); }",
        ),
        (
            Outside,
            "{ delay(); bool r = bs->try_acquire(); REC(r); if (r) { $i DO(bs->release()); } }",
        ),
        (
            Outside,
            "{ delay(); bool r = bs->try_acquire_for(Time($ns)); REC(r); if (r) { $i DO(bs->release()); } }",
        ),
    ],
};

const CALLING_ONCE: Family = Family {
    name: "call_once and exceptions",
    cxx: true,
    globals: "static std::optional<std::once_flag> flag1; static std::atomic<int> tries;
struct Local { int value = 0; ~Local() { tries += value; } };
static thread_local Local local;
static void attempt(int fail) { int before = tries++; delay(); if (fail && !before) throw std::runtime_error(\"first\"); }",
    setup: "flag1.emplace(); tries = 0;",
    teardown: "REC(tries.load()); flag1.reset();",
    steps: &[
        (Outside, "try { delay(); std::call_once(*flag1, attempt, $a); REC(1); } catch (const std::runtime_error &) { REC(2); } REC(tries.load());"),
        (Outside, "{ std::exception_ptr thrown; std::thread child([&thrown] { try { int t = tries.fetch_add(10); delay(); if (t) throw t; } catch (...) { thrown = std::current_exception(); } }); $i child.join(); try { if (thrown) std::rethrow_exception(thrown); REC(0); } catch (int t) { REC(t); } }"),
        (Anywhere, "REC(tries.load());"),
        (Outside, "if (me) { local.value = 1000; }"),
        (Outside, "{ std::future<int> f = std::async(std::launch::async, [] { int t = tries.fetch_add(10); if (t & 1) throw 5; return t; }); $i try { REC(f.get()); } catch (int t) { REC(t); } }"),
    ],
};

const POINTERS: Family = Family {
    name: "shared pointers",
    cxx: true,
    globals: "static std::atomic<int> deleted; struct Counted { int value; explicit Counted(int v) : value(v) {} ~Counted() { deleted += value; } };
static std::shared_ptr<Counted> strong; static std::weak_ptr<Counted> weak; static std::mutex guard;",
    setup: "deleted = 0; strong = std::make_shared<Counted>(5); weak = strong;",
    teardown: "strong.reset(); weak.reset(); REC(deleted.load());",
    steps: &[
        (Anywhere, "{ delay(); std::shared_ptr<Counted> p = weak.lock(); REC(p ? p->value : 0); }"),
        (Outside, "{ delay(); std::shared_ptr<Counted> p; { std::lock_guard lock(guard); p.swap(strong); } $i p.reset(); REC(deleted.load()); }"),
        (Outside, "{ delay(); std::lock_guard lock(guard); if (!strong) { strong = std::make_shared<Counted>($k); REC(1); } else REC(strong->value); }"),
        (Anywhere, "REC(weak.expired());"),
    ],
};

pub const FAMILIES: &[&Family] = &[
    &MUTEXES,
    &ATOMIC_REF,
    &STOPPING,
    &CXX_SEMAPHORES,
    &CALLING_ONCE,
    &POINTERS,
];

const LATCH: Meeting = Meeting {
    name: "latch",
    cxx: true,
    globals: "static std::optional<std::latch> latch; static int before;",
    setup: "latch.emplace($n); before = 0;",
    teardown: "latch.reset();",
    roles: [
        "REC(latch->try_wait()); before = 7; DO(latch->count_down()); REC(latch->try_wait());",
        "DO(latch->arrive_and_wait()); REC(before); $i REC(latch->try_wait());",
    ],
};

const PHASES: Meeting = Meeting {
    name: "barrier with a completion",
    cxx: true,
    globals: "static int phases; struct Complete { void operator()() noexcept { phases++; } };
static std::optional<std::barrier<Complete>> phase;",
    setup: "phases = 0; phase.emplace($n);",
    teardown: "REC(phases); phase.reset();",
    roles: [
        "DO(phase->arrive_and_wait()); REC(phases); $i DO(phase->arrive_and_drop());",
        "{ delay(); auto token = phase->arrive(); $i phase->wait(std::move(token)); } REC(phases); DO(phase->arrive_and_wait());",
    ],
};

const NOTIFY: Meeting = Meeting {
    name: "atomic::wait",
    cxx: true,
    globals: "static std::atomic<int> awaited; static int published;",
    setup: "awaited = 0; published = 0;",
    teardown: "",
    roles: [
        "published = 9; REC(awaited.exchange($k)); DO(awaited.notify_all()); if ($a) REC(awaited.fetch_add(4));",
        "DO(awaited.wait(0)); REC(published); REC(awaited.load()); $i",
    ],
};

const PROMISE: Meeting = Meeting {
    name: "promise",
    cxx: true,
    globals: "static std::optional<std::promise<int>> promise; static std::shared_future<int> future;",
    setup: "promise.emplace(); future = promise->get_future().share();",
    teardown: "future = {}; promise.reset();",
    roles: [
        "delay(); if ($a) promise->set_value($k); else promise->set_exception(std::make_exception_ptr(8));",
        "{ std::shared_future<int> mine = future; REC(mine.wait_for(Time(0)) == std::future_status::ready); $i try { REC(mine.get()); } catch (int t) { REC(t); } }",
    ],
};

const STOPPABLE: Meeting = Meeting {
    name: "condition_variable_any with a stop token",
    cxx: true,
    globals: "static std::optional<std::stop_source> ending; static std::mutex em; static std::optional<std::condition_variable_any> any; static bool ready;",
    setup: "ending.emplace(); any.emplace(); ready = false;",
    teardown: "any.reset(); ending.reset();",
    roles: [
        "if ($a) { delay(); { std::lock_guard lock(em); ready = true; } any->notify_all(); } DO(ending->request_stop());",
        "{ delay(); std::unique_lock lock(em); REC(any->wait(lock, ending->get_token(), [] { return ready; })); $i }",
    ],
};

pub const MEETINGS: &[&Meeting] = &[&LATCH, &PHASES, &NOTIFY, &PROMISE, &STOPPABLE];

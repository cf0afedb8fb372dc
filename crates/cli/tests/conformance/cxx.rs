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
#include <cxxabi.h>
#include <exception>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <iterator>
#include <list>
#include <map>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <syncstream>
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

const EXCEPTIONS: Family = Family {
    name: "exceptions",
    cxx: true,
    globals: "static std::atomic<int> unwound; static std::exception_ptr kept; static std::mutex km;
struct Unwinds { int by; explicit Unwinds(int b) : by(b) {} ~Unwinds() { unwound += by + 100 * std::uncaught_exceptions(); } };
struct Carried : std::runtime_error { std::shared_ptr<int> counted = std::make_shared<int>(3); Carried() : std::runtime_error(\"carried\") {} };
static __attribute__((noinline)) void deep(int n) { Unwinds u(1); if (!n) throw 7; deep(n - 1); }
static int levels(const std::exception &e) { try { std::rethrow_if_nested(e); return 1; } catch (const std::exception &inner) { return 1 + levels(inner); } }",
    setup: "unwound = 0; kept = nullptr;",
    teardown: "kept = nullptr; REC(unwound.load());",
    steps: &[
        (Anywhere, "REC(unwound.load());"),
        (Outside, "try { deep($k); } catch (int t) { REC(t); $i REC(unwound.load()); }"),
        (Outside, "try { Unwinds u(5); try { deep(1); } catch (...) { Unwinds inner(9); throw; } } catch (int t) { REC(t + unwound.load()); }"),
        (Outside, "{ std::exception_ptr mine; delay(); { std::lock_guard lock(km); if (!kept) kept = std::make_exception_ptr(Carried()); mine = kept; } $i try { std::rethrow_exception(mine); } catch (const Carried &c) { delay(); REC(*c.counted); } }"),
        (Outside, "{ std::exception_ptr mine; delay(); { std::lock_guard lock(km); mine = std::move(kept); kept = nullptr; } REC(mine != nullptr); mine = nullptr; }"),
        (Outside, "try { try { throw Carried(); } catch (...) { std::throw_with_nested(std::logic_error(\"outer\")); } } catch (const std::exception &e) { REC(levels(e)); }"),
        (Outside, "{ std::packaged_task<int(int)> task([](int v) { if (unwound++ & 1) throw v; return v + 1; }); auto result = task.get_future(); std::thread child(std::move(task), $k); $i try { REC(result.get()); } catch (int t) { REC(10 + t); } child.join(); }"),
    ],
};

/// `std::atomic<std::shared_ptr>` and structures of the standard library.
const CONTAINERS: Family = Family {
    name: "containers",
    cxx: true,
    globals: "static std::atomic<std::shared_ptr<int>> shared; static std::mutex cm1; static std::list<int> *listed; static std::map<int, std::string> *mapped; static std::ostringstream *said;",
    setup: "shared.store(std::make_shared<int>(1)); listed = new std::list<int>; mapped = new std::map<int, std::string>; said = new std::ostringstream;",
    teardown: "REC(*shared.load()); shared.store(nullptr); for (int v : *listed) REC(v); for (auto &[key, name] : *mapped) REC(key * 100 + (int)name.size()); length = (int)said->str().copy(text, 500); text[length] = 0; delete listed; delete mapped; delete said;",
    steps: &[
        (
            Anywhere,
            "{ delay(); std::shared_ptr<int> p = shared.load(); REC(*p); }",
        ),
        (
            Anywhere,
            "{ delay(); shared.store(std::make_shared<int>(me * 2 + $a + 2)); }",
        ),
        (
            Anywhere,
            "{ delay(); REC(*shared.exchange(std::make_shared<int>(me * 2 + $a + 20))); }",
        ),
        (
            Outside,
            "{ delay(); std::shared_ptr<int> old = shared.load(); auto next = std::make_shared<int>(*old * 2); $i REC(shared.compare_exchange_strong(old, next)); REC(*old); }",
        ),
        (
            Outside,
            "{ delay(); std::lock_guard lock(cm1); listed->push_back(me); if ($a && listed->size() > 1) listed->erase(listed->begin()); $i REC((int)listed->size()); }",
        ),
        (
            Outside,
            "{ delay(); std::lock_guard lock(cm1); (*mapped)[me & 1] += \"a rather long text\"; REC((int)mapped->size()); }",
        ),
        (
            Outside,
            "{ delay(); std::lock_guard lock(cm1); std::map<int, std::string> copy = *mapped; mapped->erase(0); REC((int)copy.count(0)); }",
        ),
        (
            Outside,
            "{ delay(); std::lock_guard lock(cm1); *said << me << (char)('a' + $a); $i REC((int)said->tellp()); }",
        ),
        (
            Outside,
            "{ std::osyncstream line(*said); line << '[' << me; { delay(); } line << ']'; line.emit(); }",
        ),
    ],
};

pub const FAMILIES: &[&Family] = &[
    &MUTEXES,
    &ATOMIC_REF,
    &STOPPING,
    &CXX_SEMAPHORES,
    &CALLING_ONCE,
    &POINTERS,
    &EXCEPTIONS,
    &CONTAINERS,
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

/// The destructors of a cancelled thread run, and what catches everything has to throw it again.
const UNWOUND: Meeting = Meeting {
    name: "cancellation with destructors",
    cxx: true,
    globals: "static std::atomic<int> ended; static sem_t never1;
struct Ends { int by; ~Ends() { ended += by; } };
static void *cancelled(void *p) {
    Ends first{1};
    try { Ends second{10}; ended += 100; while (sem_wait(&never1)) {} } catch (abi::__forced_unwind &) { ended += 1000; throw; }
    return p;
}",
    setup: "ended = 0; EXPECT(sem_init(&never1, 0, 0));",
    teardown: "REC(ended.load()); EXPECT(sem_destroy(&never1));",
    roles: [
        "{ pthread_t t; void *v; DO(pthread_create(&t, 0, cancelled, 0)); $i if ($a) DO(sem_post(&never1)); REC(pthread_cancel(t)); REC(ended.load()); REC(pthread_join(t, &v)); REC(v == PTHREAD_CANCELED); }",
        "REC(ended.load());",
    ],
};

/// Threads that are asked to stop and joined by their destructors.
const STOPPED: Meeting = Meeting {
    name: "jthreads",
    cxx: true,
    globals: "static std::atomic<int> rung, rounds; static std::mutex jm; static std::condition_variable_any jc;",
    setup: "rung = rounds = 0;",
    teardown: "REC(rung.load());",
    roles: [
        "{ std::jthread one([](std::stop_token token) { std::stop_callback ring(token, [] { rung += 1; }); std::unique_lock lock(jm); jc.wait(lock, token, [] { return rounds.load() > 1; }); rung += token.stop_requested() ? 10 : 100; }); $i REC(rung.load()); }",
        "{ delay(); { std::lock_guard lock(jm); rounds++; } jc.notify_all(); REC(rung.load()); }",
    ],
};

pub const MEETINGS: &[&Meeting] = &[
    &LATCH, &PHASES, &NOTIFY, &PROMISE, &STOPPABLE, &UNWOUND, &STOPPED,
];

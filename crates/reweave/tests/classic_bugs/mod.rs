//! The classic bugs, one a file, each with its corrected twin: two or three threads and few
//! operations, because every interleaving is run. `CASES` says what each must be found to be.

mod aba_stack;
mod barrier_leader;
mod barrier_reuse;
mod bounded_buffer_if;
mod channel_cycle;
mod dekker;
mod dining_philosophers;
mod double_checked_locking;
mod kept_sender;
mod lock_inversion;
mod lost_update;
mod lost_wakeup;
mod message_passing;
mod notify_on_transition;
mod notify_one_two_kinds;
mod once_init;
mod once_lock_get_then_set;
mod park_without_loop;
mod peterson;
mod plain;
mod pool_shutdown;
mod readers_writers;
mod refcount_relaxed;
mod rwlock_cross;
mod rwlock_upgrade;
mod seqlock;
mod sleep_is_no_order;
mod spin_lock;
mod stale_maximum;
mod stop_flag;
mod ticket_lock;
mod timeout_ignored;
mod token_ring;
mod try_lock_spin;
mod two_mutexes;
mod unpark_before_store;
mod upgrade_pair;

use crate::harness::{Case, Expected};

/// Every program of the corpus and its verdict.
pub const CASES: &[Case] = &[
    Case {
        name: "lost_wakeup::broken",
        run: lost_wakeup::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "lost_wakeup::fixed",
        run: lost_wakeup::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "lock_inversion::broken",
        run: lock_inversion::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "lock_inversion::fixed",
        run: lock_inversion::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "aba_stack::broken",
        run: aba_stack::broken,
        expected: Expected::Assertion,
    },
    Case {
        name: "aba_stack::fixed",
        run: aba_stack::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "double_checked_locking::broken",
        run: double_checked_locking::broken,
        expected: Expected::DataRace,
    },
    Case {
        name: "double_checked_locking::fixed",
        run: double_checked_locking::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "peterson::broken",
        run: peterson::broken,
        expected: Expected::DataRace,
    },
    Case {
        name: "peterson::fixed",
        run: peterson::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "readers_writers::broken",
        run: readers_writers::broken,
        expected: Expected::DataRace,
    },
    Case {
        name: "readers_writers::fixed",
        run: readers_writers::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "bounded_buffer_if::broken",
        run: bounded_buffer_if::broken,
        expected: Expected::Assertion,
    },
    Case {
        name: "bounded_buffer_if::fixed",
        run: bounded_buffer_if::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "dining_philosophers::broken",
        run: dining_philosophers::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "dining_philosophers::fixed",
        run: dining_philosophers::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "lost_update::broken",
        run: lost_update::broken,
        expected: Expected::Assertion,
    },
    Case {
        name: "lost_update::fixed",
        run: lost_update::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "spin_lock::broken",
        run: spin_lock::broken,
        expected: Expected::DataRace,
    },
    Case {
        name: "spin_lock::fixed",
        run: spin_lock::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "notify_one_two_kinds::broken",
        run: notify_one_two_kinds::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "notify_one_two_kinds::fixed",
        run: notify_one_two_kinds::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "unpark_before_store::broken",
        run: unpark_before_store::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "unpark_before_store::fixed",
        run: unpark_before_store::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "park_without_loop::broken",
        run: park_without_loop::broken,
        expected: Expected::Assertion,
    },
    Case {
        name: "park_without_loop::fixed",
        run: park_without_loop::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "channel_cycle::broken",
        run: channel_cycle::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "channel_cycle::fixed",
        run: channel_cycle::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "barrier_reuse::broken",
        run: barrier_reuse::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "barrier_reuse::fixed",
        run: barrier_reuse::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "once_init::broken",
        run: once_init::broken,
        expected: Expected::DataRace,
    },
    Case {
        name: "once_init::fixed",
        run: once_init::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "once_lock_get_then_set::broken",
        run: once_lock_get_then_set::broken,
        expected: Expected::Assertion,
    },
    Case {
        name: "once_lock_get_then_set::fixed",
        run: once_lock_get_then_set::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "refcount_relaxed::broken",
        run: refcount_relaxed::broken,
        expected: Expected::DataRace,
    },
    Case {
        name: "refcount_relaxed::fixed",
        run: refcount_relaxed::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "seqlock::broken",
        run: seqlock::broken,
        expected: Expected::Assertion,
    },
    Case {
        name: "seqlock::fixed",
        run: seqlock::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "ticket_lock::broken",
        run: ticket_lock::broken,
        expected: Expected::DataRace,
    },
    Case {
        name: "ticket_lock::fixed",
        run: ticket_lock::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "dekker::broken",
        run: dekker::broken,
        expected: Expected::DataRace,
    },
    Case {
        name: "dekker::fixed",
        run: dekker::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "message_passing::broken",
        run: message_passing::broken,
        expected: Expected::DataRace,
    },
    Case {
        name: "message_passing::fixed",
        run: message_passing::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "rwlock_upgrade::broken",
        run: rwlock_upgrade::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "rwlock_upgrade::fixed",
        run: rwlock_upgrade::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "upgrade_pair::broken",
        run: upgrade_pair::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "upgrade_pair::fixed",
        run: upgrade_pair::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "rwlock_cross::broken",
        run: rwlock_cross::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "rwlock_cross::fixed",
        run: rwlock_cross::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "two_mutexes::broken",
        run: two_mutexes::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "two_mutexes::fixed",
        run: two_mutexes::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "pool_shutdown::broken",
        run: pool_shutdown::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "pool_shutdown::fixed",
        run: pool_shutdown::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "token_ring::broken",
        run: token_ring::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "token_ring::fixed",
        run: token_ring::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "stop_flag::broken",
        run: stop_flag::broken,
        expected: Expected::Livelock,
    },
    Case {
        name: "stop_flag::fixed",
        run: stop_flag::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "try_lock_spin::broken",
        run: try_lock_spin::broken,
        expected: Expected::Livelock,
    },
    Case {
        name: "try_lock_spin::fixed",
        run: try_lock_spin::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "stale_maximum::broken",
        run: stale_maximum::broken,
        expected: Expected::Assertion,
    },
    Case {
        name: "stale_maximum::fixed",
        run: stale_maximum::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "timeout_ignored::broken",
        run: timeout_ignored::broken,
        expected: Expected::Assertion,
    },
    Case {
        name: "timeout_ignored::fixed",
        run: timeout_ignored::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "kept_sender::broken",
        run: kept_sender::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "kept_sender::fixed",
        run: kept_sender::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "notify_on_transition::broken",
        run: notify_on_transition::broken,
        expected: Expected::Deadlock,
    },
    Case {
        name: "notify_on_transition::fixed",
        run: notify_on_transition::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "barrier_leader::broken",
        run: barrier_leader::broken,
        expected: Expected::Assertion,
    },
    Case {
        name: "barrier_leader::fixed",
        run: barrier_leader::fixed,
        expected: Expected::Clean,
    },
    Case {
        name: "sleep_is_no_order::broken",
        run: sleep_is_no_order::broken,
        expected: Expected::Assertion,
    },
    Case {
        name: "sleep_is_no_order::fixed",
        run: sleep_is_no_order::fixed,
        expected: Expected::Clean,
    },
];

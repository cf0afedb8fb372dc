//! Concurrent structures of some size, written the usual way with std's types, their small drivers,
//! and one seeded bug each (`BUG`), which the driver named here must bring out.

mod mpmc;
mod pool;
mod ring;
mod treiber;

use crate::harness::{Case, Expected};

/// Every driver and its verdict.
pub const CASES: &[Case] = &[
    Case {
        name: "mpmc::in_order",
        run: mpmc::in_order::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "mpmc::two_producers",
        run: mpmc::two_producers::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "mpmc::close_wakes_everybody",
        run: mpmc::close_wakes_everybody::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "mpmc::close_wakes_everybody::bug",
        run: mpmc::close_wakes_everybody::<true>,
        expected: Expected::Deadlock,
    },
    Case {
        name: "mpmc::close_returns_the_item",
        run: mpmc::close_returns_the_item::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "ring::in_order",
        run: ring::in_order::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "ring::in_order::bug",
        run: ring::in_order::<true>,
        expected: Expected::DataRace,
    },
    Case {
        name: "ring::two_producers",
        run: ring::two_producers::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "ring::two_consumers",
        run: ring::two_consumers::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "ring::second_round",
        run: ring::second_round::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "pool::result_arrives",
        run: pool::result_arrives::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "pool::shutdown_is_graceful",
        run: pool::shutdown_is_graceful::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "pool::shutdown_is_graceful::bug",
        run: pool::shutdown_is_graceful::<true>,
        expected: Expected::Assertion,
    },
    Case {
        name: "pool::accepted_or_refused",
        run: pool::accepted_or_refused::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "pool::idle_means_done",
        run: pool::idle_means_done::<false>,
        expected: Expected::Clean,
    },
    Case {
        name: "treiber::pushes",
        run: treiber::pushes::<{ treiber::RIGHT }>,
        expected: Expected::Clean,
    },
    Case {
        name: "treiber::pushes::lost",
        run: treiber::pushes::<{ treiber::LOST }>,
        expected: Expected::Assertion,
    },
    Case {
        name: "treiber::pushes_and_pops",
        run: treiber::pushes_and_pops::<{ treiber::RIGHT }>,
        expected: Expected::Clean,
    },
    Case {
        name: "treiber::pushes_and_pops::relaxed",
        run: treiber::pushes_and_pops::<{ treiber::RELAXED }>,
        expected: Expected::DataRace,
    },
];

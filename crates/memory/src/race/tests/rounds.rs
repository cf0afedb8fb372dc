//! Rounds of loops that are taken back.

use super::*;

/// Thread 1 adds nothing to what thread 2 reads, which hands over what it did. The round is taken back, or stays.
#[test]
fn a_read_modify_write_that_was_taken_back_hands_nothing_over() {
    for taken_back in [false, true] {
        for known in [false, true] {
            let mut h = History::new(4);
            let flag = h.atomic();
            if known {
                h.add(3, flag, Release);
            }
            assert!(!h.write(1));
            h.detector.round_may_begin(ThreadId(1), true);
            let nothing = Rmw {
                kind: RmwKind::Or,
                operand: 0,
                bits: 64,
            };
            h.ordered(1, Op::Rmw(flag, nothing), AcqRel, None);
            if taken_back {
                h.detector.take_back(ThreadId(1), 1);
            }
            h.load(2, flag, Acquire);
            assert_eq!(h.read(2), taken_back);
        }
    }
}

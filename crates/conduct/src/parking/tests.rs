//! Cross-checks the recognition of loops with all small loops of some shapes.

use super::{Fingerprint, Polls, Waiter, park};
use crate::late::SPURIOUS;
use reweave_model::{
    Event, Gate, Machine, Object, ObjectId, Op, Orders, Rmw, RmwKind, Site, ThreadId,
};
use std::{vec, vec::Vec};

const A: ObjectId = ObjectId(0);
const LOCK: ObjectId = ObjectId(2);
const EMPTY: ObjectId = ObjectId(3);
const CONDVAR: ObjectId = ObjectId(4);

/// Registers and stack of a thread, of a target that sees writes or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Print<const SEES: bool>(u32);

impl<const SEES: bool> Fingerprint for Print<SEES> {
    const SEES_WRITES: bool = SEES;
}

/// One thread, two atomics and a mutex.
struct Loop<const SEES: bool> {
    state: Machine,
    polls: Polls<Print<SEES>>,
}

impl<const SEES: bool> Loop<SEES> {
    fn new(memory: [u64; 2]) -> Self {
        let mut state = Machine::default();
        state.spawn(None);
        state.create(Object::Atomic(memory[0]));
        state.create(Object::Atomic(memory[1]));
        state.create(Object::mutex());
        state.create(Object::Semaphore(0));
        state.create(Object::condvar());
        let polls = Polls::default();
        Loop { state, polls }
    }

    /// Comes to an operation: where its round begins, if it repeats.
    fn reach(&mut self, op: Op, site: u32, print: u32) -> Option<usize> {
        self.polls.arrive(false);
        if self.polls.row().is_empty() {
            return None;
        }
        self.polls.revisit(op, Site(site), || Print(print))
    }

    fn perform(&mut self, op: Op, site: u32, outcome: u16) -> Event {
        let outcomes = self.state.outcomes(ThreadId::MAIN, op);
        let effect = self.state.apply(ThreadId::MAIN, op, outcome);
        let event = Event {
            thread: ThreadId::MAIN,
            op,
            gate: Gate::Open,
            outcome,
            outcomes,
            ok: effect.ok,
            result: effect.result,
            after: effect.after,
            access: effect.access,
            site: Site(site),
            order: Orders::IMPLIED,
        };
        self.polls.record(&event, &self.state);
        event
    }
}

/// A program: in each state it loads an atomic and goes to a state by its value, 0 or 1. The last state is the end.
const STATES: u32 = 3;
type Automaton = [(u32, [u32; 2]); STATES as usize];

/// All of them, where all states are reached by some jump or other.
fn automata() -> impl Iterator<Item = Automaton> {
    let choices = 2 * (STATES + 1) * (STATES + 1);
    (0..choices.pow(STATES)).map(move |mut code| {
        core::array::from_fn(|_| {
            let state = code % choices;
            code /= choices;
            let jump = state / 2;
            (state % 2, [jump / (STATES + 1), jump % (STATES + 1)])
        })
    })
}

/// The states that a program goes through, up to a third visit of one; without it, it comes to its end.
fn path(program: &Automaton, memory: [u64; 2]) -> (Vec<u32>, Option<u32>) {
    let mut path = vec![];
    let mut at = 0;
    while at < STATES {
        if path.iter().filter(|before| **before == at).count() == 2 {
            return (path, Some(at));
        }
        path.push(at);
        let (object, next) = program[at as usize];
        at = next[memory[object as usize] as usize];
    }
    (path, None)
}

/// Runs a program until it is parked or ends: how many operations it did, and what its round saw.
fn run(
    program: &Automaton,
    memory: [u64; 2],
    site: impl Fn(u32) -> u32,
) -> (usize, Option<Vec<(ObjectId, u64)>>) {
    let mut machine = Loop::<false>::new(memory);
    let (mut at, mut done) = (0, 0);
    while at < STATES && done < 40 {
        let (object, next) = program[at as usize];
        let op = Op::Load(ObjectId(object));
        if let Some(start) = machine.reach(op, site(at), at) {
            let (print, seen) = machine.polls.take_round(start);
            assert_eq!(print, Some(Print(at)));
            assert!(machine.polls.is_blank());
            return (done, Some(seen));
        }
        let value = machine.perform(op, site(at), 0).result;
        at = next[value as usize];
        done += 1;
    }
    (done, None)
}

#[test]
fn every_endless_loop_is_parked_at_its_third_round_and_no_other_is() {
    let mut endless = 0;
    for program in automata() {
        for memory in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            let (path, again) = path(&program, memory);
            let (done, seen) = run(&program, memory, |at| at + 1);
            assert_eq!(done, path.len(), "{program:?} with {memory:?}");
            assert_eq!(
                seen.is_some(),
                again.is_some(),
                "{program:?} with {memory:?}"
            );
            let (Some(seen), Some(first)) = (seen, again) else {
                continue;
            };
            endless += 1;
            // What it saw: each object of the round once, in order.
            let start = path
                .iter()
                .rposition(|at| *at == first)
                .expect("it was there");
            let mut expected = vec![];
            for at in &path[start..] {
                let object = program[*at as usize].0;
                let word = (ObjectId(object), memory[object as usize]);
                if !expected.contains(&word) {
                    expected.push(word);
                }
            }
            assert_eq!(seen, expected, "{program:?} with {memory:?}");
        }
    }
    assert!(endless > 10_000, "{endless} endless loops");
}

#[test]
fn states_at_one_place_are_told_apart_by_their_fingerprints() {
    for program in automata() {
        for memory in [[0, 0], [0, 1], [1, 0], [1, 1]] {
            let (_, seen) = run(&program, memory, |_| 1);
            let endless = path(&program, memory).1.is_some();
            assert!(
                seen.is_none() || endless,
                "{program:?} with {memory:?} ends"
            );
        }
    }
}

/// Loop bodies over loads and a lock that is taken and released in turn.
fn bodies() -> Vec<Vec<Op>> {
    let mut all: Vec<Vec<Op>> = vec![vec![]];
    let mut grown = all.clone();
    for _ in 0..5 {
        let longer = grown.iter().flat_map(|body| {
            let held = body.iter().filter(|op| op.object() == Some(LOCK)).count() % 2 == 1;
            let lock = if held {
                Op::Unlock(LOCK)
            } else {
                Op::Lock(LOCK)
            };
            [Op::Load(A), lock].map(|op| [&body[..], &[op]].concat())
        });
        grown = longer.collect();
        all.extend(grown.iter().cloned());
    }
    let closed = |body: &Vec<Op>| {
        !body.is_empty() && body.iter().filter(|op| op.object() == Some(LOCK)).count() % 2 == 0
    };
    all.into_iter().filter(closed).collect()
}

/// Repeats a body that begins at some operation until it is parked: after how many operations. `leave` says with which
/// operation a section ends.
fn repeat<const SEES: bool>(
    body: &[Op],
    print: impl Fn(usize, u32) -> u32,
    leave: impl Fn(&mut Loop<SEES>, u32, u32) -> Op,
) -> Option<usize> {
    let mut machine = Loop::<SEES>::new([0, 0]);
    for done in 0..5 * body.len() {
        let (round, place) = (done / body.len(), (done % body.len()) as u32);
        let now = print(round, place);
        let op = match body[place as usize] {
            Op::Unlock(_) => leave(&mut machine, place, now),
            op => op,
        };
        if machine.reach(op, place, now).is_some() {
            let Object::Mutex { holder, .. } = machine.state.object(LOCK) else {
                unreachable!("it is a mutex");
            };
            assert_eq!(*holder, None, "{body:?} is parked inside its section");
            return Some(done);
        }
        machine.perform(op, place, 0);
    }
    None
}

#[test]
fn a_round_is_left_outside_of_its_sections() {
    for body in bodies() {
        let always = |_: usize, place: u32| place;
        let clean = repeat::<false>(&body, always, |_, _, _| Op::UnlockClean(LOCK));
        // The first operation of the body is outside: parked there at its third visit.
        assert_eq!(clean, Some(2 * body.len()), "{body:?}");
        let locks = body.contains(&Op::Lock(LOCK));
        let dirty = repeat::<false>(&body, always, |_, _, _| Op::Unlock(LOCK));
        assert_eq!(
            dirty.is_some(),
            !locks,
            "{body:?} changes something each time"
        );
    }
}

#[test]
fn a_section_is_clean_from_its_second_round_on() {
    for body in bodies() {
        let leave = |wrote: bool| {
            move |machine: &mut Loop<true>, place: u32, now: u32| {
                let take = || Some(Print(now));
                match machine.polls.leaves_clean(LOCK, Site(place), wrote, take) {
                    true => Op::UnlockClean(LOCK),
                    false => Op::Unlock(LOCK),
                }
            }
        };
        let locks = body.contains(&Op::Lock(LOCK));
        // Without writes the second round is clean. The release of the first one is counted, so the lock looks the same
        // from the second round on.
        let parked = repeat(&body, |_, place| place, leave(false));
        assert!(
            parked.is_some_and(|done| done < 4 * body.len()),
            "{body:?}: {parked:?}"
        );
        // With writes to the stack that leave the same there it is, too.
        let parked = repeat(&body, |_, place| place, leave(true));
        assert!(
            parked.is_some_and(|done| done < 5 * body.len()),
            "{body:?}: {parked:?}"
        );
        // A stack that counts the rounds never repeats.
        let count = |round: usize, place: u32| place + 100 * round as u32;
        assert_eq!(repeat(&body, count, leave(locks)), None, "{body:?}");
    }
}

#[test]
fn what_is_kept_changes_nothing_and_does_the_same_again() {
    let exchange = |expected, new, weak| Op::CompareExchange {
        object: A,
        expected,
        new,
        weak,
    };
    let mut ops = vec![Op::Load(A)];
    for value in 0..3 {
        ops.push(Op::Store(A, value));
        for kind in [
            RmwKind::Add,
            RmwKind::Or,
            RmwKind::And,
            RmwKind::Xor,
            RmwKind::Swap,
        ] {
            let (operand, bits) = (value, 64);
            let rmw = Rmw {
                kind,
                operand,
                bits,
            };
            ops.push(Op::Rmw(A, rmw));
        }
        for new in 0..3 {
            ops.extend([exchange(value, new, false), exchange(value, new, true)]);
        }
    }
    let mut kept = 0;
    for (&op, value) in ops
        .iter()
        .flat_map(|op| (0..3).map(move |value| (op, value)))
    {
        let outcomes = Loop::<true>::new([value, 0])
            .state
            .outcomes(ThreadId::MAIN, op);
        for outcome in 0..outcomes {
            let mut machine = Loop::<true>::new([value, 0]);
            let first = machine.perform(op, 1, outcome);
            if machine.polls.row().is_empty() {
                continue;
            }
            kept += 1;
            assert_eq!(machine.state.object(A), &Object::Atomic(value), "{op:?}");
            for outcome in 0..machine.state.outcomes(ThreadId::MAIN, op) {
                let mut again = Loop::<true>::new([value, 0]);
                let second = again.perform(op, 1, outcome);
                assert_eq!(
                    (first.ok, first.result),
                    (second.ok, second.result),
                    "{op:?}"
                );
            }
        }
    }
    assert!(kept > 40, "{kept} kept");
}

/// Writes down what a thread does that is parked.
struct Notes {
    guess: u64,
    done: Vec<(Op, Gate)>,
    watched: Vec<(ObjectId, u64)>,
}

impl Waiter for Notes {
    fn perform(&mut self, op: Op, gate: Gate) -> u64 {
        self.done.push((op, gate));
        self.guess
    }

    fn watch(&mut self, words: Vec<(ObjectId, u64)>) {
        assert_eq!(self.done.len(), 1, "right after the guess");
        self.watched = words;
    }
}

#[test]
fn a_loop_over_several_objects_guesses_which_one_changes() {
    for count in 1..4 {
        let seen: Vec<_> = (0..count)
            .map(|n| (ObjectId(n), u64::from(n) + 10))
            .collect();
        for guess in 0..u64::from(count) {
            let mut notes = Notes {
                guess,
                done: vec![],
                watched: vec![],
            };
            let (object, word) = seen[guess as usize];
            let gate = park(Op::Load(A), seen.clone(), &mut notes);
            let any = (Op::Any(count), Gate::Open);
            let expected = match (count, object == A) {
                (1, _) => (Gate::Word(word), vec![]),
                (_, true) => (Gate::Word(word), vec![any]),
                (_, false) => {
                    let wait = (Op::Await(object, word), Gate::Word(word));
                    (Gate::Open, vec![any, wait])
                }
            };
            assert_eq!((gate, notes.done), expected);
            let mut others = seen.clone();
            others.remove(guess as usize);
            assert_eq!(notes.watched, others);
        }
    }
}

/// Comes to a wait that times out: whether the round from the last time to here repeats.
fn times_out<const SEES: bool>(it: &mut Loop<SEES>, op: Op, site: u32, print: u32) -> bool {
    it.polls.arrive(false);
    let repeats = it.polls.timed(op, Site(site), || Some(Print(print)));
    it.polls.may_time_out(op);
    let event = it.perform(op, site, 0);
    assert!(!event.ok);
    repeats.is_some()
}

#[test]
fn a_timed_wait_repeats_at_its_second_visit_in_the_same_state() {
    let acquire = Op::SemAcquire {
        object: EMPTY,
        timed: true,
    };
    let mut it = Loop::<true>::new([0, 0]);
    assert!(!times_out(&mut it, acquire, 1, 7));
    assert!(times_out(&mut it, acquire, 1, 7));
    assert!(!times_out(&mut it, acquire, 2, 7), "another place");
    assert!(!times_out(&mut it, acquire, 1, 8), "another state");
    // A look on the way changes nothing, whatever it sees; a store does, and so does a plain write.
    it.perform(Op::Load(A), 3, 0);
    assert!(times_out(&mut it, acquire, 1, 8));
    it.perform(Op::Store(A, 0), 4, 0);
    assert!(!times_out(&mut it, acquire, 1, 8));
    it.polls.clear_row();
    assert!(!times_out(&mut it, acquire, 1, 8));
    assert!(times_out(&mut it, acquire, 1, 8));
}

#[test]
fn a_timed_wait_on_a_condition_variable_repeats_where_its_section_is_clean() {
    let (condvar, mutex) = (CONDVAR, LOCK);
    let timed = true;
    fn round<const SEES: bool>(it: &mut Loop<SEES>, wait: [Op; 2], clean: bool) -> bool {
        if clean {
            it.polls.waits_clean();
        }
        it.perform(wait[0], 1, 0);
        let repeats = times_out(it, wait[1], 1, 7);
        it.perform(Op::Lock(LOCK), 1, 0);
        repeats
    }
    let wait = [Op::Enqueue { condvar, mutex }, Op::Wake { condvar, timed }];
    let mut sees = Loop::<true>::new([0, 0]);
    sees.perform(Op::Lock(LOCK), 1, 0);
    assert!(!round(&mut sees, wait, false));
    assert!(round(&mut sees, wait, false));
    let mut blind = Loop::<false>::new([0, 0]);
    blind.perform(Op::Lock(LOCK), 1, 0);
    assert!(!round(&mut blind, wait, true));
    assert!(round(&mut blind, wait, true));
    assert!(!round(&mut blind, wait, false), "its data may have changed");
}

#[test]
fn a_spurious_end_is_a_choice_once_in_the_same_state() {
    let timed = false;
    let key = Op::Wake {
        condvar: CONDVAR,
        timed,
    };
    let mut it = Loop::<true>::new([0, 0]);
    let offered = |it: &mut Loop<true>, print| {
        it.polls.arrive(false);
        let repeats = it.polls.timed(key, Site(1), || Some(Print(print)));
        if repeats.is_none() {
            it.polls.may_time_out(key);
            it.perform(SPURIOUS, 1, 1);
            it.perform(Op::Unlock(LOCK), 1, 0);
            it.perform(Op::Lock(LOCK), 1, 0);
        }
        repeats.is_none()
    };
    it.perform(Op::Lock(LOCK), 1, 0);
    assert!(offered(&mut it, 7));
    assert!(!offered(&mut it, 7));
    assert!(offered(&mut it, 8));
    // A wait that does not end so changes nothing by that.
    it.polls.may_time_out(key);
    it.perform(SPURIOUS, 1, 0);
    assert!(!offered(&mut it, 8));
}

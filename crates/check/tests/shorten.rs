//! Small random programs that fail in some schedules: the reported execution is as simple as the simplest that brute force finds.

use reweave_check::{Control, Fault, Settings, Subject, check, plan_of};
use reweave_conduct::{Next, Run};
use reweave_explore::{AlgorithmName, Flow, Options, Schedule, Search, Target, TargetError};
use reweave_model::{
    End, Error, Execution, Kind, Object, ObjectId, Op, Pending, Plan, Rmw, RmwKind, Site, ThreadId,
};
use reweave_report::{Context, Position, Program, Trace};
use reweave_testing::class::class;
use std::{cell::RefCell, collections::BTreeSet, sync::Mutex};

const ATOMICS: [ObjectId; 2] = [ObjectId(0), ObjectId(1)];
const MUTEXES: [ObjectId; 2] = [ObjectId(2), ObjectId(3)];
const SEMAPHORE: ObjectId = ObjectId(4);

/// What a thread does, line by line.
#[derive(Clone, Copy, Debug)]
enum Line {
    Do(Op),
    /// Loads, and leaves out so many lines if that is not 0.
    Unless(ObjectId, usize),
    /// Loads, and goes wrong if that is this.
    Wrong(ObjectId, u64),
}

impl Line {
    fn op(self) -> Op {
        match self {
            Line::Do(op) => op,
            Line::Unless(object, _) | Line::Wrong(object, _) => Op::Load(object),
        }
    }
}

/// Threads that the first one, which does nothing, creates at its beginning.
type Lines = Vec<Vec<Line>>;

struct Machine {
    run: Run,
    lines: Lines,
}

impl Machine {
    fn new(lines: &Lines) -> Machine {
        Machine {
            run: Run::default(),
            lines: lines.clone(),
        }
    }

    fn come(&mut self, thread: ThreadId, line: usize) {
        let own = &self.lines[thread.index() - 1];
        match own.get(line) {
            None => self.run.finish(thread),
            Some(next) => {
                let pending = Pending::new(next.op(), site(thread, line));
                self.run.announce(thread, pending);
            }
        }
    }
}

fn site(thread: ThreadId, line: usize) -> Site {
    Site(thread.0 * 100 + line as u32 + 1)
}

fn error(kind: Kind, sites: Vec<Site>) -> Error {
    Error {
        kind,
        rule: None,
        message: "wrong".into(),
        sites,
        after: None,
    }
}

impl Target for Machine {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.run.begin(plan);
        for object in [
            Object::Atomic(0),
            Object::Atomic(0),
            Object::mutex(),
            Object::mutex(),
            Object::Semaphore(1),
        ] {
            self.run.object(object);
        }
        let mut at = vec![0; self.lines.len() + 1];
        for _ in 0..self.lines.len() {
            self.run.spawn(ThreadId::MAIN);
        }
        self.run.finish(ThreadId::MAIN);
        for thread in 1..at.len() {
            self.come(ThreadId(thread as u32), 0);
        }
        loop {
            match self.run.next() {
                Next::Go(choice) => {
                    let thread = choice.thread;
                    let line = at[thread.index()];
                    let result = self.run.step(choice).result;
                    at[thread.index()] += match self.lines[thread.index() - 1][line] {
                        Line::Unless(_, lines) if result != 0 => 1 + lines,
                        Line::Wrong(_, value) if result == value => {
                            let wrong = error(Kind::Assertion, vec![site(thread, line)]);
                            self.run.error(wrong);
                            1
                        }
                        _ => 1,
                    };
                    self.come(thread, at[thread.index()]);
                }
                Next::Diverged => {
                    return Err(self.run.divergence().expect("it did").clone().into());
                }
                Next::End(end) => {
                    if end == End::Deadlock {
                        let threads = (1..at.len()).map(|thread| ThreadId(thread as u32));
                        let pending = threads.filter_map(|thread| self.run.pending(thread));
                        let sites = pending.map(|pending| pending.site).collect();
                        self.run.error(error(Kind::Deadlock, sites));
                    }
                    return Ok(self.run.end(end));
                }
            }
        }
    }
}

struct Script(Lines);

impl Subject for Script {
    type Target = Machine;

    fn target(&self) -> Machine {
        Machine::new(&self.0)
    }

    fn trial(&self) -> Machine {
        self.target()
    }

    fn position(&self, site: Site) -> Option<Position> {
        Some(Position {
            file: "script".into(),
            line: site.0,
            column: 0,
        })
    }

    fn confirm(&self, execution: &Execution) -> Result<Trace, Fault> {
        let mut target = self.target();
        let again = target
            .run(&plan_of(execution))
            .map_err(|error| Fault::of(self, error))?;
        assert_eq!(again, execution);
        Ok(Trace::from_execution(
            again,
            Context {
                program: Program::default(),
                options: reweave_report::Options {
                    max_steps: 1000,
                    spurious_wakeups: false,
                    thread_ends: false,
                },
                site: &|site| self.position(site),
                output: None,
                blame: &[],
            },
        ))
    }
}

/// A generator that needs nothing (xorshift).
struct Dice(RefCell<u64>);

impl Dice {
    fn new(seed: u64) -> Dice {
        let dice = Dice(RefCell::new(seed));
        // The first numbers are much like the seed.
        (0..20).for_each(|_| {
            dice.throw(2);
        });
        dice
    }

    fn throw(&self, sides: u64) -> u64 {
        let mut state = self.0.borrow_mut();
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % sides
    }
}

fn script(dice: &Dice) -> Lines {
    let threads = 2 + dice.throw(2);
    (0..threads).map(|_| thread(dice, 5 - threads)).collect()
}

fn thread(dice: &Dice, groups: u64) -> Vec<Line> {
    let mut lines = Vec::new();
    for _ in 0..1 + dice.throw(groups) {
        let atomic = ATOMICS[dice.throw(2) as usize];
        let (one, other) = match dice.throw(2) {
            0 => (MUTEXES[0], MUTEXES[1]),
            _ => (MUTEXES[1], MUTEXES[0]),
        };
        let add = Rmw {
            kind: RmwKind::Add,
            operand: 1,
            bits: 64,
        };
        match dice.throw(7) {
            0 => lines.extend([Line::Do(Op::Lock(one)), Line::Do(Op::Unlock(one))]),
            1 => {
                let both = [
                    Op::Lock(one),
                    Op::Lock(other),
                    Op::Unlock(other),
                    Op::Unlock(one),
                ];
                lines.extend(both.map(Line::Do));
            }
            2 => lines.push(Line::Do(Op::Store(atomic, dice.throw(3)))),
            3 => lines.push(Line::Do(Op::Rmw(atomic, add))),
            4 => lines.push(Line::Unless(atomic, dice.throw(3) as usize)),
            5 => lines.push(Line::Wrong(atomic, 1 + dice.throw(2))),
            _ => {
                let timed = false;
                let object = SEMAPHORE;
                lines.push(Line::Do(Op::SemAcquire { object, timed }));
                if dice.throw(3) > 0 {
                    lines.push(Line::Do(Op::SemRelease(object)));
                }
            }
        }
    }
    lines
}

/// Kind and sites of the verdict.
fn verdict(execution: &Execution) -> Option<(Kind, Vec<Site>)> {
    let error = execution.errors.first()?;
    Some((error.kind, error.sites.clone()))
}

type Cost = (u32, usize);

/// For every execution within a bound, or for all, what it came to and how simple it is.
fn all(lines: &Lines, bound: Option<u32>, most: usize) -> Option<Vec<(Execution, Cost)>> {
    let options = Options {
        algorithm: AlgorithmName::Dfs,
        preemptions: bound,
        ..Options::default()
    };
    let seen = Mutex::new(Vec::new());
    let mut search = Search::new(options);
    let after = |_: &Plan, execution: &Execution| {
        let mut seen = seen.lock().unwrap();
        let preemptions = Schedule::default().preemptions(execution);
        seen.push((execution.clone(), (preemptions, execution.events.len())));
        match seen.len() < most {
            true => Flow::Continue,
            false => Flow::Stop,
        }
    };
    let target = |_| Machine::new(lines);
    search.run(1, target, || Flow::Continue, after).unwrap();
    search.exhausted().then(|| seen.into_inner().unwrap())
}

fn told(lines: &Lines, algorithm: AlgorithmName, minimise: bool) -> Option<Trace> {
    let place = tempfile::tempdir().unwrap();
    let settings = Settings {
        options: Options {
            algorithm,
            samples: 100,
            ..Options::default()
        },
        workers: 1,
        budget: None,
        max_executions: None,
        keep_going: false,
        every_race: false,
        beyond_races: false,
        races_cut: true,
        minimise,
        directory: place.path().into(),
        coverage: false,
        log: None,
        name: "script".into(),
    };
    let mut script = Script(lines.clone());
    let outcome = check(&mut script, &settings, &Control::default()).unwrap();
    outcome.errors.into_iter().next().map(|error| error.trace)
}

/// All that a shortened execution must be. Says whether it was made simpler.
fn examine(
    lines: &Lines,
    algorithm: AlgorithmName,
    everything: &[(Execution, Cost)],
) -> Option<bool> {
    let first = told(lines, algorithm, false)?;
    let last = told(lines, algorithm, true)?;
    let same = |trace: &Trace| (trace.errors[0].kind, trace.errors[0].places.clone());
    assert_eq!(same(&first), same(&last), "fails the same way");
    assert_eq!(first.shortened, None);
    let cost = |trace: &Trace| (trace.preemptions.unwrap(), trace.events.len());
    assert!(last.events.len() <= first.events.len(), "never longer");
    assert!(cost(&last) <= cost(&first));
    let mut target = Machine::new(lines);
    let again = target
        .run(&last.plan())
        .expect("it can be run again")
        .clone();
    assert_eq!(again.events.len(), last.events.len());
    let wanted = verdict(&again);
    let alike = everything
        .iter()
        .filter(|(execution, cost)| verdict(execution) == wanted && cost.1 <= first.events.len());
    let least = alike.map(|(_, cost)| *cost).min().expect("itself");
    assert_eq!(cost(&last), least, "brute force knows no simpler one");
    if let Some(known) = last.shortened {
        assert_eq!((known.preemptions, known.steps as usize), cost(&first));
        assert_eq!(known.switches as usize, first.switches());
    }
    Some(last.shortened.is_some())
}

/// Programs whose schedules can all be tried: what comes out is the best there is.
#[test]
fn shortened_executions_are_the_simplest_there_are() {
    let seed = std::env::var("REWEAVE_TEST_SEED").map_or(1, |seed| seed.parse().unwrap());
    let (mut failing, mut simpler) = (0, 0);
    for number in 0..400 {
        let dice = Dice::new((seed << 20) + number + 1);
        let lines = script(&dice);
        // With so few schedules no limit on runs is met.
        let Some(everything) = all(&lines, None, 900) else {
            continue;
        };
        println!("seed {seed}, program {number}: {lines:?}");
        // Random schedules have the most to be made simpler.
        for algorithm in [AlgorithmName::Optimal, AlgorithmName::Random] {
            if let Some(shortened) = examine(&lines, algorithm, &everything) {
                failing += 1;
                simpler += u32::from(shortened);
            }
        }
    }
    println!("{failing} errors, {simpler} of them made simpler");
    assert!(failing > 100 && simpler > 40, "{failing} {simpler}");
}

fn classes<'a>(executions: impl Iterator<Item = &'a (Execution, Cost)>) -> BTreeSet<String> {
    executions.map(|(execution, _)| class(execution)).collect()
}

/// What is within a bound by going through it is within it by counting; every class that is within it by counting is met.
#[test]
fn preemptions_are_counted_as_bounds_count_them() {
    for number in 0..60 {
        let dice = Dice::new(number + 1);
        let lines = script(&dice);
        let Some(everything) = all(&lines, None, 2000) else {
            continue;
        };
        for bound in 0..4 {
            let within = all(&lines, Some(bound), 2000).expect("fewer than all");
            assert!(within.iter().all(|(_, cost)| cost.0 <= bound));
            let counted = everything.iter().filter(|(_, cost)| cost.0 <= bound);
            let (met, wanted) = (classes(within.iter()), classes(counted));
            assert_eq!(met, wanted, "{bound}: {lines:?}");
        }
    }
}

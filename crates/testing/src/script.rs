//! Straight-line programs, run by the model, so that the tests have real executions to write down.

use reweave_conduct::{Next, Run};
use reweave_model::{
    Choice, End, Error, Execution, Kind, Mark, Object, Op, Pending, Plan, Policy, Site, Step,
    ThreadId,
};
use reweave_report::{Context, Options, Position, Program, Trace};

/// One thread: its name, and its operations with the lines they stand on.
#[derive(Debug)]
pub struct Thread(pub Option<&'static str>, pub Vec<(Op, u32)>);

/// A program: objects, and threads of which all but the first are created by the first before its first operation.
#[derive(Debug)]
pub struct Script {
    pub objects: Vec<Object>,
    pub threads: Vec<Thread>,
}

/// Runs a script; `order` names the threads that go first, one step each; then by policy.
pub fn run(script: &Script, order: &[u32], policy: Policy, max_steps: u32) -> Execution {
    let steps = order
        .iter()
        .scan(vec![0; script.threads.len()], |at, thread| {
            let (op, line) = script.threads[*thread as usize].1[at[*thread as usize]];
            at[*thread as usize] += 1;
            Some(Step {
                choice: Choice {
                    thread: ThreadId(*thread),
                    outcome: 0,
                },
                kind: op.kind(),
                site: Site(line),
                ok: None,
                mark: Mark::Default,
            })
        });
    let plan = Plan {
        steps: steps.collect(),
        sleep: Vec::new(),
        policy,
        max_steps,
    };
    follow(script, &plan)
}

/// Runs a script by a plan.
pub fn follow(script: &Script, plan: &Plan) -> Execution {
    let mut run = Run::default();
    let mut next = vec![0; script.threads.len()];
    run.begin(plan);
    for object in &script.objects {
        run.object(object.clone());
    }
    for (index, thread) in script.threads.iter().enumerate() {
        if index > 0 {
            run.spawn(ThreadId::MAIN);
        }
        if let Some(name) = thread.0 {
            run.name(ThreadId(index as u32), name);
        }
    }
    let come = |run: &mut Run, next: &[usize], thread: usize| {
        let id = ThreadId(thread as u32);
        match script.threads[thread].1.get(next[thread]) {
            Some((op, line)) => run.announce(id, Pending::new(*op, Site(*line))),
            None => run.finish(id),
        }
    };
    for thread in 0..script.threads.len() {
        come(&mut run, &next, thread);
    }
    loop {
        match run.next() {
            Next::Go(choice) => {
                run.step(choice);
                next[choice.thread.index()] += 1;
                come(&mut run, &next, choice.thread.index());
            }
            Next::End(end) => {
                if end == End::Deadlock {
                    run.error(Error {
                        kind: Kind::Deadlock,
                        rule: None,
                        message: "no thread can go on".into(),
                        sites: Vec::new(),
                        after: None,
                    });
                }
                return run.end(end).clone();
            }
            Next::Diverged => panic!("the order does not fit: {:?}", run.divergence()),
        }
    }
}

/// Lines of one file; line 0 is no place.
pub fn position(site: Site) -> Option<Position> {
    (site != Site::ANY).then(|| Position {
        file: "src/demo.rs".into(),
        line: site.0,
        column: 9,
    })
}

pub fn trace(name: &str, execution: &Execution) -> Trace {
    let replay = format!("REWEAVE_REPLAY={{trace}} cargo test {name}");
    Trace::from_execution(
        execution,
        Context {
            program: Program {
                name: name.into(),
                kind: "rust-test".into(),
                test: Some(format!("tests::{name}")),
                command: vec!["cargo".into(), "test".into(), name.into()],
                replay: Some(replay),
                ..Program::default()
            },
            options: Options {
                max_steps: 1000,
                spurious_wakeups: false,
                thread_ends: false,
            },
            site: &position,
            output: None,
            blame: &[],
        },
    )
}

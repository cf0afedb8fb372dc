//! interweave's cells. Programs are async processes of a `World`; there is no main thread, so the writer and the receiver are
//! processes too. Complete interleavings are counted by an observer, as its own examples do.

use interweave::{Observer, Step, StepCx, World, explore};
use reweave_bench_cell::{Outcome, Program, Search, count_execution, executions_started, measure};

fn main() {
    reweave_bench_cell::fill(run);
}

fn run(program: Program) -> Outcome {
    match program {
        Program::Mutex(_) => Outcome::Refused("no mutex".to_owned()),
        Program::Lastzero(n) => search(move |world| lastzero(world, n)),
        Program::Readers(n) => search(move |world| readers(world, n)),
        Program::Senders(n) => search(move |world| senders(world, n)),
    }
}

struct CountComplete;

impl Observer for CountComplete {
    fn step(&mut self, step: Step<'_>, _: StepCx<'_, '_>) {
        if matches!(step, Step::Maximal { .. }) {
            count_execution();
        }
    }
}

fn search(program: impl Fn(&mut World)) -> Outcome {
    measure(|| {
        let before = executions_started();
        if let Err(failed) = explore(&program, &mut CountComplete) {
            panic!("a correct program failed: {failed}");
        }
        Search {
            executions: executions_started() - before,
            blocked: 0,
        }
    })
}

fn lastzero(world: &mut World, n: usize) {
    let a: Vec<_> = (0..=n)
        .map(|i| world.atomic(format!("a{i}"), 0usize))
        .collect();
    let scan = a.clone();
    world.spawn("scan", async move {
        let mut i = n;
        while i > 0 && scan[i].load().await != 0 {
            i -= 1;
        }
        Ok(())
    });
    for j in 1..=n {
        let (below, own) = (a[j - 1].clone(), a[j].clone());
        world.spawn(format!("writer-{j}"), async move {
            own.store(below.load().await + 1).await;
            Ok(())
        });
    }
}

fn readers(world: &mut World, n: usize) {
    let x = world.atomic("x", 0usize);
    for i in 0..n {
        let x = x.clone();
        world.spawn(format!("reader-{i}"), async move {
            x.load().await;
            Ok(())
        });
    }
    world.spawn("writer", async move {
        x.store(1).await;
        Ok(())
    });
}

fn senders(world: &mut World, n: usize) {
    let (sender, receiver) = world.channel::<usize>("c");
    for i in 0..n {
        let sender = sender.clone();
        world.spawn(format!("sender-{i}"), async move {
            sender.send(i).await;
            Ok(())
        });
    }
    world.spawn("receiver", async move {
        for _ in 0..n {
            receiver.recv().await;
        }
        Ok(())
    });
}

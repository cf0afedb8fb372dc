mod common;
use common::program::*;
use reweave_explore::*;
use std::collections::*;

fn all(program: &Program, algorithm: Algorithm) -> (u64, BTreeMap<String, u64>) {
    let mut machine = Machine::new(program);
    let mut explorer = Explorer::new(algorithm);
    let mut stack = vec![explorer.root()];
    let mut classes = BTreeMap::new();
    let mut n = 0;
    while let Some(branch) = stack.pop() {
        let execution = machine.run(&branch.plan).expect("deterministic").clone();
        n += 1;
        *classes.entry(class(&execution)).or_default() += 1;
        explorer.branches(&branch, &execution, &mut stack);
        assert!(n < 3_000_000);
    }
    (n, classes)
}

fn threads(bodies: Vec<Vec<I>>, objects: Objects) -> Program {
    let n = bodies.len();
    let mut main: Vec<I> = (1..=n).map(I::Spawn).collect();
    main.extend((0..n).map(I::Join));
    let mut all = vec![main];
    all.extend(bodies);
    Program {
        objects,
        bodies: all,
    }
}

#[test]
fn known() {
    let atomics = |n| Objects {
        atomics: n,
        ..Objects::default()
    };
    let sb = threads(
        vec![
            vec![I::Store(0, 1), I::Load(1)],
            vec![I::Store(1, 1), I::Load(0)],
        ],
        atomics(2),
    );
    let (n, classes) = all(&sb, Algorithm::Dfs);
    println!("sb dfs {n} classes {}", classes.len());
    let (n, classes) = all(&sb, Algorithm::Optimal);
    println!("sb optimal {n} classes {}", classes.len());
    assert_eq!((n, classes.len()), (3, 3));
    let mutex = |n: usize| {
        threads(
            vec![vec![I::Lock(0), I::Unlock(0)]; n],
            Objects {
                mutexes: 1,
                ..Objects::default()
            },
        )
    };
    for k in 2..6 {
        let (n, classes) = all(&mutex(k), Algorithm::Optimal);
        println!("mutex {k} optimal {n} classes {}", classes.len());
    }
    let lastzero = |n: u32| {
        let mut bodies = vec![];
        let mut first = vec![];
        for i in (0..=n).rev() {
            first.push(I::Load(i));
            if i > 0 {
                first.push(I::SkipUnless(0, 1));
                first.push(I::SkipUnless(99, 1000));
            }
        }
        bodies.push(first);
        for j in 1..=n {
            bodies.push(vec![I::Load(j - 1), I::StoreReg(j, 1)]);
        }
        threads(bodies, atomics(n + 1))
    };
    for k in 2..9 {
        let (n, classes) = all(&lastzero(k), Algorithm::Optimal);
        println!(
            "lastzero {k} optimal {n} classes {} want {}",
            classes.len(),
            (k + 3) * (1 << (k - 2))
        );
    }
    for k in 2..9u32 {
        let mut bodies = vec![vec![I::Store(0, 1)]];
        for _ in 0..k {
            bodies.push(vec![I::Load(0)]);
        }
        let (n, classes) = all(&threads(bodies, atomics(1)), Algorithm::Optimal);
        println!(
            "readers {k} optimal {n} classes {} want {}",
            classes.len(),
            1 << k
        );
    }
}

#[test]
fn semaphore_of_two() {
    let p = Program {
        objects: Objects {
            semaphores: vec![0, 2],
            ..Objects::default()
        },
        bodies: vec![
            vec![I::Spawn(1), I::Spawn(2), I::Spawn(4)],
            vec![I::Acquire(1)],
            vec![I::Spawn(3)],
            vec![I::Acquire(1)],
            vec![I::Acquire(1)],
        ],
    };
    let (n, c) = all(&p, Algorithm::Optimal);
    println!("{n} {c:#?}");
    let (n, c) = all(&p, Algorithm::Dfs);
    println!("{n} {c:#?}");
}

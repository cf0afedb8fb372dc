//! Random programs, and smaller ones that still fail.

use super::language::{
    Block, Ending, How, Kind, Objects, Program, Stmt, Storage, Test, Value, each,
};
use reweave_model::RmwKind;

/// The same numbers on every machine (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// In one of so many cases.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// What a program is about. Few things at a time meet more often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Theme {
    Atomics,
    Mutexes,
    Condvars,
    RwLocks,
    Semaphores,
    Barriers,
    Onces,
    Choices,
    Spins,
    Polls,
    Timeouts,
}

const THEMES: [Theme; 11] = [
    Theme::Atomics,
    Theme::Mutexes,
    Theme::Condvars,
    Theme::RwLocks,
    Theme::Semaphores,
    Theme::Barriers,
    Theme::Onces,
    Theme::Choices,
    Theme::Spins,
    Theme::Polls,
    Theme::Timeouts,
];

/// A program of its own for each seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random::new(seed);
    loop {
        let program = Generator::new(&mut random).program();
        if program.valid() {
            return program;
        }
    }
}

/// As [`program`], about waiting with a time limit.
pub fn waiting(seed: u64) -> Program {
    let mut random = Random::new(seed);
    loop {
        let mut generator = Generator::new(&mut random);
        let other = generator.random.of(&THEMES);
        generator.themes = vec![Theme::Timeouts, Theme::Timeouts, Theme::Mutexes, other];
        let program = generator.program();
        if program.valid() {
            return program;
        }
    }
}

struct Generator<'a> {
    random: &'a mut Random,
    themes: Vec<Theme>,
    objects: Objects,
    /// Threads so far.
    threads: usize,
    timed: bool,
}

/// Where a statement is to stand.
#[derive(Clone, Default)]
struct Place {
    depth: u32,
    /// Mutexes that are held.
    held: Vec<usize>,
    once: bool,
}

impl<'a> Generator<'a> {
    fn new(random: &'a mut Random) -> Generator<'a> {
        let mut themes = vec![random.of(&THEMES)];
        for _ in 0..random.below(3) {
            themes.push(random.of(&THEMES));
        }
        if random.one_in(2) {
            themes.push(Theme::Atomics);
        }
        let timed = random.one_in(3);
        let objects = objects(random);
        Generator {
            random,
            themes,
            objects,
            threads: 0,
            timed,
        }
    }

    fn program(mut self) -> Program {
        let threads = 2 + self.random.below(4) / 3 + usize::from(self.random.one_in(8));
        let joins = self.random.below(4);
        let mut main = Block::new();
        let mut open = Vec::new();
        for _ in 0..threads {
            main.push(self.spawn(0));
            open.push(self.threads - 1);
            // Sometimes the first thread takes part.
            if self.random.one_in(3) {
                let stmt = self.stmt(&Place::default());
                main.push(stmt);
            }
            if joins == 3 && self.random.one_in(3) {
                main.push(Stmt::Join(open.remove(0)));
            }
        }
        // Most programs join everybody, some nobody.
        if joins > 0 {
            for number in open {
                if joins < 3 || !self.random.one_in(4) {
                    main.push(Stmt::Join(number));
                }
            }
        }
        let ending = match self.random.below(12) {
            0 | 1 => Ending::Exit,
            2 => Ending::Quit,
            _ => Ending::Return,
        };
        let mut program = Program {
            objects: self.objects,
            main,
            ending,
            storage: Storage::Static,
        };
        program.storage = match self.random.below(4) {
            0 => Storage::Heap,
            1 if program.joins_all() => Storage::Stack,
            _ => Storage::Static,
        };
        program
    }

    fn spawn(&mut self, depth: u32) -> Stmt {
        let number = self.threads;
        self.threads += 1;
        let mut body = Block::new();
        let most = 1 + self.random.below(4);
        let mut child = None;
        for _ in 0..most {
            if depth == 0 && child.is_none() && self.threads < 4 && self.random.one_in(12) {
                child = Some(self.threads);
                body.push(self.spawn(1));
            }
            let stmt = self.stmt(&Place::default());
            body.push(stmt);
        }
        if let Some(child) = child.filter(|_| !self.random.one_in(3)) {
            body.push(Stmt::Join(child));
        }
        Stmt::Spawn(number, body)
    }

    fn block(&mut self, place: &Place) -> Block {
        let count = match self.random.below(8) {
            0 => 0,
            1..5 => 1,
            _ => 2,
        };
        (0..count).map(|_| self.stmt(place)).collect()
    }

    fn within(&mut self, place: &Place) -> Block {
        let inner = Place {
            depth: place.depth + 1,
            ..place.clone()
        };
        self.block(&inner)
    }

    fn stmt(&mut self, place: &Place) -> Stmt {
        loop {
            let stmt = match self.random.below(16) {
                0 if place.depth < 2 => {
                    let test = self.test();
                    Stmt::If(test, self.within(place))
                }
                1 if place.depth < 1 => {
                    let times = 2 + self.random.below(2) as u32;
                    Stmt::Repeat(times, self.within(place))
                }
                2 if self.random.one_in(3) => Stmt::Nothing(self.random.below(4) as u8),
                3 if !place.once && place.depth > 0 && self.random.one_in(4) => {
                    let ways = [Ending::Return, Ending::Exit, Ending::Quit];
                    Stmt::Leave(self.random.of(&ways))
                }
                _ => {
                    let theme = self.random.of(&self.themes.clone());
                    self.themed(theme, place)
                }
            };
            // What is not allowed here is thrown again.
            let held = place.held.iter();
            let around = held.fold(vec![stmt.clone()], |inside, mutex| {
                vec![Stmt::Locked(*mutex, How::Try, inside)]
            });
            let alone = Program {
                objects: self.objects.clone(),
                main: around,
                ..Program::default()
            };
            if alone.valid() && (!place.once || !has_leave(&stmt)) {
                return stmt;
            }
        }
    }

    fn themed(&mut self, theme: Theme, place: &Place) -> Stmt {
        match theme {
            Theme::Atomics => self.atomic(),
            Theme::Mutexes => self.locked(place),
            Theme::Condvars => self.condvar(place),
            Theme::RwLocks if place.depth < 2 => {
                let lock = self.random.below(self.objects.rwlocks.len());
                let how = self.how();
                let block = self.within(place);
                match self.random.one_in(2) {
                    true => Stmt::Reading(lock, how, block),
                    false => Stmt::Writing(lock, how, block),
                }
            }
            Theme::RwLocks => self.atomic(),
            Theme::Semaphores => {
                let semaphore = self.random.below(self.objects.semaphores.len());
                match self.random.below(8) {
                    0 => Stmt::Count(semaphore),
                    1..4 => Stmt::Up(semaphore),
                    _ => Stmt::Down(semaphore, self.how()),
                }
            }
            Theme::Barriers => Stmt::Arrive(self.random.below(self.objects.barriers.len())),
            Theme::Onces if place.depth < 2 => {
                let once = self.random.below(self.objects.onces);
                let inner = Place {
                    once: true,
                    ..place.clone()
                };
                Stmt::Once(once, self.within(&inner))
            }
            Theme::Onces => self.atomic(),
            Theme::Choices => match self.random.below(3) {
                0 => Stmt::Any(2 + self.random.below(2) as u32),
                1 => Stmt::Assume(self.test()),
                _ => self.atomic(),
            },
            Theme::Spins => self.spin(place),
            Theme::Polls => self.poll(place),
            Theme::Timeouts if place.depth < 2 => self.timeout(place),
            Theme::Timeouts => self.atomic(),
        }
    }

    fn value(&mut self) -> u64 {
        self.random.below(3) as u64
    }

    fn test(&mut self) -> Test {
        let value = self.value();
        match self.random.one_in(3) {
            true => Test::IsNot(value),
            false => Test::Is(value),
        }
    }

    fn how(&mut self) -> How {
        match self.random.below(10) {
            0 | 1 => How::Try,
            2..6 if self.timed => How::Timed,
            6 if self.themes.contains(&Theme::Spins) => How::Spin,
            _ => How::Wait,
        }
    }

    fn stored(&mut self) -> Value {
        match self.random.one_in(3) {
            true => Value::Last(self.value()),
            false => Value::Const(1 + self.value()),
        }
    }

    fn any_atomic(&mut self) -> usize {
        self.random.below(self.objects.atomics.len())
    }

    fn atomic(&mut self) -> Stmt {
        let atomic = self.any_atomic();
        let strength = self.random.below(15) as u8;
        match self.random.below(12) {
            0..4 => Stmt::Load(atomic, strength),
            4..7 => Stmt::Store(atomic, self.stored(), strength),
            7..10 => {
                let kinds = [
                    RmwKind::Swap,
                    RmwKind::Add,
                    RmwKind::Add,
                    RmwKind::Sub,
                    RmwKind::And,
                    RmwKind::Or,
                    RmwKind::Xor,
                ];
                Stmt::Modify(atomic, self.random.of(&kinds), self.value(), strength)
            }
            _ => Stmt::Compare {
                atomic,
                expected: self.value(),
                new: self.value(),
                weak: self.random.one_in(4),
                strength,
            },
        }
    }

    fn locked(&mut self, place: &Place) -> Stmt {
        if place.depth >= 2 {
            return self.plain(place).unwrap_or_else(|| self.atomic());
        }
        let mutex = self.random.below(self.objects.mutexes.len());
        let how = self.how();
        let mut held = place.held.clone();
        held.push(mutex);
        let inner = Place {
            held,
            ..place.clone()
        };
        Stmt::Locked(mutex, how, self.within(&inner))
    }

    /// Of a plain variable that may be used here.
    fn plain(&mut self, place: &Place) -> Option<Stmt> {
        let plains = self.objects.plains.clone();
        let mine: Vec<usize> = (0..plains.len())
            .filter(|plain| place.held.contains(&plains[*plain]))
            .collect();
        if mine.is_empty() {
            return None;
        }
        let plain = self.random.of(&mine);
        Some(match self.random.one_in(2) {
            true => Stmt::Get(plain),
            false => Stmt::Set(plain, self.stored()),
        })
    }

    fn condvar(&mut self, place: &Place) -> Stmt {
        let condvar = self.random.below(self.objects.condvars.len());
        let mutex = self.objects.condvars[condvar];
        let plains = self.objects.plains.clone();
        let plain = (0..plains.len()).find(|plain| plains[*plain] == mutex);
        let signal = match self.random.one_in(3) {
            true => Stmt::Broadcast(condvar),
            false => Stmt::Signal(condvar),
        };
        let timed = self.timed && self.random.one_in(2);
        let value = 1 + self.value();
        let wait = match plain.filter(|_| self.random.one_in(2)) {
            Some(plain) => Stmt::WaitUntil {
                condvar,
                plain,
                value,
                timed,
            },
            None => Stmt::Wait { condvar, timed },
        };
        if place.held.contains(&mutex) {
            return match self.random.one_in(2) {
                true => wait,
                false => signal,
            };
        }
        let set = plain.map(|plain| Stmt::Set(plain, Value::Const(value)));
        match self.random.below(5) {
            0 | 1 => Stmt::Locked(mutex, How::Wait, vec![wait]),
            2 => signal,
            3 => Stmt::Locked(mutex, How::Wait, set.into_iter().chain([signal]).collect()),
            _ => self.locked(place),
        }
    }

    fn spin(&mut self, place: &Place) -> Stmt {
        let atomic = self.any_atomic();
        let other = self.any_atomic();
        let value = self.value();
        match self.random.below(12) {
            0..2 => Stmt::SpinUntil {
                atomic,
                value,
                kept: self.random.one_in(2),
            },
            2 => Stmt::SpinSwap(atomic, value),
            3 => Stmt::SpinCompare(atomic, value, self.value()),
            4 => Stmt::Watch(atomic, other, value),
            5 => Stmt::Down(self.random.below(self.objects.semaphores.len()), How::Spin),
            6 => self.locked(place),
            _ => self.atomic(),
        }
    }

    /// Something that may time out, and mostly may do so again.
    fn timeout(&mut self, place: &Place) -> Stmt {
        let inside = match self.random.one_in(2) {
            true => Vec::new(),
            false => vec![self.atomic()],
        };
        let lock = self.random.below(self.objects.rwlocks.len());
        match self.random.below(8) {
            0 => return Stmt::DownOn(self.random.below(self.objects.semaphores.len())),
            1 => return self.wait_on(place),
            _ => {}
        }
        let timed = match self.random.below(5) {
            0 => {
                let mutex = self.random.below(self.objects.mutexes.len());
                Stmt::Locked(mutex, How::Timed, inside)
            }
            1 => Stmt::Reading(lock, How::Timed, inside),
            2 => Stmt::Writing(lock, How::Timed, inside),
            3 => Stmt::Down(self.random.below(self.objects.semaphores.len()), How::Timed),
            _ => {
                let (condvar, timed) = (0, true);
                let mutex = self.objects.condvars[condvar];
                let wait = Stmt::Wait { condvar, timed };
                Stmt::Locked(mutex, How::Wait, vec![wait])
            }
        };
        match place.depth {
            0 => {
                let mut block = vec![timed];
                if self.random.one_in(2) {
                    block.push(self.atomic());
                }
                Stmt::Repeat(2 + self.random.below(2) as u32, block)
            }
            _ => timed,
        }
    }

    /// A loop around a wait that may time out any number of times; elsewhere what ends it.
    fn wait_on(&mut self, place: &Place) -> Stmt {
        let (condvar, value) = (0, 1);
        let mutex = self.objects.condvars[condvar];
        let plains = self.objects.plains.iter();
        let plain = plains.clone().position(|protected| *protected == mutex);
        let (Some(plain), false) = (plain, place.held.contains(&mutex)) else {
            return Stmt::Up(self.random.below(self.objects.semaphores.len()));
        };
        let wait = Stmt::WaitOn {
            condvar,
            plain,
            value,
        };
        let block = match self.random.one_in(2) {
            true => vec![wait],
            false => vec![
                Stmt::Set(plain, Value::Const(value)),
                Stmt::Broadcast(condvar),
            ],
        };
        Stmt::Locked(mutex, How::Wait, block)
    }

    fn poll(&mut self, place: &Place) -> Stmt {
        let plain = self.random.below(self.objects.plains.len());
        let mutex = self.objects.plains[plain];
        let value = 1 + self.value();
        if place.held.contains(&mutex) {
            return Stmt::Set(plain, self.stored());
        }
        match self.random.below(3) {
            0 => Stmt::Poll(plain, value),
            1 => Stmt::Locked(
                mutex,
                How::Wait,
                vec![Stmt::Set(plain, Value::Const(value))],
            ),
            _ => self.locked(place),
        }
    }
}

fn has_leave(stmt: &Stmt) -> bool {
    let mut found = false;
    each(std::slice::from_ref(stmt), &mut |stmt| {
        found |= matches!(stmt, Stmt::Leave(_));
    });
    found
}

/// The more of them, the less they have to do with each other.
fn objects(random: &mut Random) -> Objects {
    let kinds = [
        Kind::Normal,
        Kind::Normal,
        Kind::Recursive,
        Kind::Checking,
        Kind::Spin,
    ];
    let mutexes: Vec<Kind> = (0..1 + random.below(2))
        .map(|_| random.of(&kinds))
        .collect();
    let mutexes = [mutexes, vec![Kind::Normal]].concat();
    let atomics = 1 + random.below(5) / 2;
    let bits = [8, 8, 16, 32, 32, 64];
    let last = mutexes.len() - 1;
    Objects {
        atomics: (0..atomics)
            .map(|_| (random.of(&bits), random.below(2) as u64))
            .collect(),
        rwlocks: match random.below(3) {
            0 => vec![true],
            1 => vec![false, true],
            _ => vec![false],
        },
        // They go with a mutex that can be waited for.
        condvars: vec![last; 1 + random.below(4) / 3],
        plains: match random.one_in(2) {
            true => vec![last],
            false => vec![last, 0],
        },
        semaphores: (0..1 + random.below(2))
            .map(|_| random.below(2) as u64)
            .collect(),
        barriers: vec![2 + random.below(3) as u32 / 2],
        onces: 1 + random.below(3) / 2,
        mutexes,
    }
}

/// All programs that are one step smaller: a statement less, or only what is inside of it, or fewer rounds.
pub fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    shrink(&program.main, &mut |main| {
        let candidate = Program {
            main,
            ..program.clone()
        };
        if candidate.valid() {
            all.push(candidate);
        }
    });
    if program.ending != Ending::Return {
        all.push(Program {
            ending: Ending::Return,
            ..program.clone()
        });
    }
    if !matches!(program.storage, Storage::Static | Storage::Shared) {
        all.push(Program {
            storage: Storage::Static,
            ..program.clone()
        });
    }
    all
}

fn shrink(block: &Block, found: &mut dyn FnMut(Block)) {
    let with = |at: usize, instead: &[Stmt]| {
        let (before, after) = (&block[..at], &block[at + 1..]);
        [before, instead, after].concat()
    };
    for (at, stmt) in block.iter().enumerate() {
        let mut less = with(at, &[]);
        if let Stmt::Spawn(number, _) = stmt {
            forget(&mut less, *number);
        }
        found(less);
        let Some(inner) = stmt.block() else { continue };
        if !matches!(stmt, Stmt::Spawn(..)) {
            found(with(at, inner));
        }
        if let Stmt::Repeat(times @ 3.., inner) = stmt {
            found(with(at, &[Stmt::Repeat(times - 1, inner.clone())]));
        }
        shrink(inner, &mut |inner| {
            let mut stmt = stmt.clone();
            *stmt.block_mut().expect("it has one") = inner;
            found(with(at, &[stmt]));
        });
    }
}

/// Nobody joins this thread any more.
fn forget(block: &mut Block, number: usize) {
    block.retain(|stmt| *stmt != Stmt::Join(number));
    for stmt in block {
        if let Some(inner) = stmt.block_mut() {
            forget(inner, number);
        }
    }
}

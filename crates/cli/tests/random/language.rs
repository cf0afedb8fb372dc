//! The programs: a tree of statements that is C when written down and operations of the model when interpreted.
//!
//! Every thread has two variables, the last value that it got (`v`) and all of them folded into one number (`acc`). No program has a
//! data race: plain variables are used only under their mutexes, and what a thread has folded only by whoever joins it.

use reweave_model::RmwKind;

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub objects: Objects,
    /// Of the first thread.
    pub main: Block,
    pub ending: Ending,
    pub storage: Storage,
}

/// Where the objects are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    #[default]
    Static,
    Heap,
    /// Of the first thread, which must not go before all others.
    Stack,
    /// In memory that processes share; each thread but the first is a process of its own, forked where it is created.
    Shared,
}

/// What threads share; statements name objects by their places here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects {
    /// Bits and first values.
    pub atomics: Vec<(u8, u64)>,
    pub mutexes: Vec<Kind>,
    /// Whether writers go first.
    pub rwlocks: Vec<bool>,
    /// The mutex that goes with each.
    pub condvars: Vec<usize>,
    /// Plain variables: the mutex that protects each.
    pub plains: Vec<usize>,
    /// First counts.
    pub semaphores: Vec<u64>,
    /// Sizes.
    pub barriers: Vec<u32>,
    pub onces: usize,
}

/// Kinds of mutexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Normal,
    Recursive,
    Checking,
    /// `pthread_spinlock_t`.
    Spin,
}

/// How a thread ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    #[default]
    Return,
    /// By `pthread_exit`, which leaves the others running.
    Exit,
    /// By `exit`, which ends the process.
    Quit,
}

pub type Block = Vec<Stmt>;

/// How long a call waits for what it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Wait,
    Try,
    Timed,
    /// Tries until it succeeds.
    Spin,
}

/// A value to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Const(u64),
    /// `v` plus so much.
    Last(u64),
}

/// A condition on `v`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Is(u64),
    IsNot(u64),
}

/// A memory order, as stdatomic.h numbers them from the weakest; adapted to what an operation allows.
pub type Strength = u8;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    Load(usize, Strength),
    Store(usize, Value, Strength),
    Modify(usize, RmwKind, u64, Strength),
    Compare {
        atomic: usize,
        expected: u64,
        new: u64,
        weak: bool,
        strength: Strength,
    },
    /// No events: a fence, giving way, a sleep, a block of the heap.
    Nothing(u8),

    Locked(usize, How, Block),
    Reading(usize, How, Block),
    Writing(usize, How, Block),
    Set(usize, Value),
    Get(usize),

    Wait {
        condvar: usize,
        timed: bool,
    },
    /// Waits in a loop until a plain variable of the same mutex has the value, or the time is up.
    WaitUntil {
        condvar: usize,
        plain: usize,
        value: u64,
        timed: bool,
    },
    /// As `WaitUntil` with a time limit, but again and again, without a trace of how often.
    WaitOn {
        condvar: usize,
        plain: usize,
        value: u64,
    },
    Signal(usize),
    Broadcast(usize),

    Down(usize, How),
    /// With a time limit, again and again, without a trace of how often.
    DownOn(usize),
    Up(usize),
    Count(usize),
    Arrive(usize),
    Once(usize, Block),
    Any(u32),
    /// That `v` is so.
    Assume(Test),

    /// Looks at an atomic until it has the value; the loop may keep what it saw in memory of its own.
    SpinUntil {
        atomic: usize,
        value: u64,
        kept: bool,
    },
    /// Swaps a value in until the old one was another: a lock made of one flag.
    SpinSwap(usize, u64),
    /// Compares and exchanges until that succeeds.
    SpinCompare(usize, u64, u64),
    /// Looks at a plain variable, each time under its mutex, until it has the value.
    Poll(usize, u64),
    /// Looks at two atomics until one has the value.
    Watch(usize, usize, u64),

    If(Test, Block),
    Repeat(u32, Block),
    /// Creates a thread; the number is its own in the program.
    Spawn(usize, Block),
    Join(usize),
    /// The thread ends here.
    Leave(Ending),
}

impl Stmt {
    /// The statements within.
    pub fn block(&self) -> Option<&Block> {
        match self {
            Stmt::Locked(_, _, block)
            | Stmt::Reading(_, _, block)
            | Stmt::Writing(_, _, block)
            | Stmt::Once(_, block)
            | Stmt::If(_, block)
            | Stmt::Repeat(_, block)
            | Stmt::Spawn(_, block) => Some(block),
            _ => None,
        }
    }

    pub fn block_mut(&mut self) -> Option<&mut Block> {
        match self {
            Stmt::Locked(_, _, block)
            | Stmt::Reading(_, _, block)
            | Stmt::Writing(_, _, block)
            | Stmt::Once(_, block)
            | Stmt::If(_, block)
            | Stmt::Repeat(_, block)
            | Stmt::Spawn(_, block) => Some(block),
            _ => None,
        }
    }
}

/// Every statement of a block, outermost first.
pub fn each<'a>(block: &'a [Stmt], see: &mut impl FnMut(&'a Stmt)) {
    for stmt in block {
        see(stmt);
        if let Some(inner) = stmt.block() {
            each(inner, see);
        }
    }
}

impl Program {
    /// The threads that are created, with their numbers.
    pub fn threads(&self) -> Vec<(usize, &Block)> {
        let mut found = Vec::new();
        each(&self.main, &mut |stmt| {
            if let Stmt::Spawn(number, block) = stmt {
                found.push((*number, block));
            }
        });
        found
    }

    /// Whether every thread is joined by its creator, come what may: at the end of `main` all is known.
    pub fn joins_all(&self) -> bool {
        let mut all = true;
        each(&self.main, &mut |stmt| {
            all &= !matches!(stmt, Stmt::Leave(_));
        });
        let bodies = self.threads().into_iter().map(|(_, block)| block);
        all && bodies.chain([&self.main]).all(|body| {
            let joined = |number: &usize| body.contains(&Stmt::Join(*number));
            body.iter().all(|stmt| match stmt {
                Stmt::Spawn(number, _) => joined(number),
                _ => true,
            })
        })
    }

    /// Whether it keeps the rules: see [`Scope`].
    pub fn valid(&self) -> bool {
        let mut scope = Scope {
            objects: &self.objects,
            held: Vec::new(),
            children: Vec::new(),
            bare: true,
            once: false,
            repeated: false,
        };
        let numbers: Vec<usize> = self.threads().iter().map(|(number, _)| *number).collect();
        let distinct = (1..numbers.len()).all(|at| !numbers[..at].contains(&numbers[at]));
        let stays = match self.storage {
            Storage::Static | Storage::Heap => true,
            Storage::Stack => self.joins_all(),
            // What the first thread leaves behind are other processes.
            Storage::Shared => self.joins_all() && self.ending == Ending::Return,
        };
        distinct && stays && scope.allows(&self.main)
    }
}

/// Where a statement stands.
struct Scope<'a> {
    objects: &'a Objects,
    /// Mutexes that the thread has, as often as it has them.
    held: Vec<usize>,
    /// Threads created here and not joined yet.
    children: Vec<usize>,
    /// Directly in a thread.
    bare: bool,
    /// In a one-time initialiser, which is a function of its own.
    once: bool,
    repeated: bool,
}

impl Scope<'_> {
    fn depth(&self, mutex: usize) -> usize {
        self.held.iter().filter(|held| **held == mutex).count()
    }

    fn allows(&mut self, block: &[Stmt]) -> bool {
        block.iter().all(|stmt| self.allows_one(stmt))
    }

    fn within(&mut self, block: &[Stmt]) -> bool {
        let bare = std::mem::replace(&mut self.bare, false);
        let allowed = self.allows(block);
        self.bare = bare;
        allowed
    }

    fn allows_one(&mut self, stmt: &Stmt) -> bool {
        let objects = self.objects;
        match stmt {
            Stmt::Locked(mutex, how, block) => {
                let kind = objects.mutexes[*mutex];
                let again = match kind {
                    Kind::Recursive | Kind::Checking => true,
                    // To lock it again is an error, to try is not; to try until it is free never ends.
                    Kind::Normal | Kind::Spin => *how == How::Try,
                };
                let timed = *how != How::Timed || kind != Kind::Spin;
                let free = self.depth(*mutex) == 0;
                self.held.push(*mutex);
                let inner = self.within(block);
                self.held.pop();
                inner && timed && (free || again)
            }
            // To try to write until that succeeds is no loop that is ever parked.
            Stmt::Writing(_, How::Spin, _) => false,
            Stmt::Reading(_, _, block) | Stmt::Writing(_, _, block) | Stmt::If(_, block) => {
                self.within(block)
            }
            Stmt::Set(plain, _) | Stmt::Get(plain) => self.depth(objects.plains[*plain]) > 0,
            Stmt::Wait { condvar, .. } => self.depth(objects.condvars[*condvar]) == 1,
            Stmt::WaitUntil { condvar, plain, .. } | Stmt::WaitOn { condvar, plain, .. } => {
                let mutex = objects.condvars[*condvar];
                self.depth(mutex) == 1 && objects.plains[*plain] == mutex
            }
            Stmt::Poll(plain, _) => self.depth(objects.plains[*plain]) == 0,
            Stmt::Watch(first, second, _) => first != second,
            Stmt::Once(_, block) => {
                let once = std::mem::replace(&mut self.once, true);
                let allowed = self.within(block);
                self.once = once;
                allowed
            }
            Stmt::Repeat(_, block) => {
                let repeated = std::mem::replace(&mut self.repeated, true);
                let allowed = self.within(block);
                self.repeated = repeated;
                allowed
            }
            Stmt::Spawn(number, block) => {
                let mut inner = Scope {
                    objects,
                    held: Vec::new(),
                    children: Vec::new(),
                    bare: true,
                    once: false,
                    repeated: false,
                };
                self.children.push(*number);
                self.bare && inner.allows(block)
            }
            Stmt::Join(number) => {
                let at = self.children.iter().position(|child| child == number);
                if let Some(at) = at {
                    self.children.remove(at);
                }
                at.is_some() && !self.once && !self.repeated
            }
            Stmt::Leave(_) => !self.once,
            _ => true,
        }
    }
}

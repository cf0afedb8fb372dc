//! Programs as lists of instructions with jumps, for the interpreter.

use super::language::{Block, Ending, How, Objects, Program, Stmt, Test, Value};
use reweave_model::RmwKind;

/// What a thread does that others can notice. Leaves its result, if it has one, in `t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Load(usize),
    Store(usize, Value),
    Modify(usize, RmwKind, u64),
    /// Leaves what it found in `u`.
    Compare(usize, u64, u64, bool),
    Lock(usize),
    TryLock(usize),
    TimedLock(usize),
    Unlock(usize),
    Read(usize),
    TryRead(usize),
    TimedRead(usize),
    Write(usize),
    TryWrite(usize),
    TimedWrite(usize),
    RwUnlock(usize),
    Wait(usize, bool),
    Signal(usize),
    Broadcast(usize),
    Down(usize),
    TryDown(usize),
    TimedDown(usize),
    Up(usize),
    Count(usize),
    Arrive(usize),
    OnceBegin(usize),
    OnceEnd(usize),
    Any(u32),
    Assume(Test),
    Join(usize),
    /// Shows what the whole program has computed.
    Result,
}

/// A condition.
#[derive(Clone, Copy, Debug)]
pub enum If {
    T(Test),
    V(Test),
    Plain(usize, u64),
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub enum Code {
    Act(Act),
    /// `t` becomes `v` and is folded.
    Fold,
    /// `u` is folded.
    FoldFound,
    /// What a thread that was joined has folded is folded.
    FoldThread(usize),
    Get(usize),
    Set(usize, Value),
    /// Writes to memory that is no object.
    Touch,
    /// The n-th variable that loops keep what they saw in is `t`.
    Keep(usize),
    Unless(If, usize),
    Jump(usize),
    /// The n-th loop begins.
    Begin(usize),
    /// It goes round again from there, so often in all.
    Again(usize, u32, usize),
    /// A function with variables of its own.
    Enter,
    Exit,
    Spawn(usize),
    /// The thread ends, or the process with it.
    End(Ending),
}

/// Instructions of every thread, by its number; the first thread's are the last.
pub fn compile(program: &Program) -> Vec<Vec<Code>> {
    let threads = program.threads();
    let most = threads.iter().map(|(number, _)| number + 1).max();
    let mut bodies = vec![Vec::new(); most.unwrap_or(0) + 1];
    for (number, block) in threads {
        let mut body = Body::new(&program.objects);
        body.block(block);
        body.code.push(Code::End(Ending::Return));
        bodies[number] = body.code;
    }
    let mut body = Body::new(&program.objects);
    body.block(&program.main);
    if program.joins_all() {
        body.code.push(Code::Act(Act::Result));
    }
    body.code.push(Code::End(program.ending));
    *bodies.last_mut().expect("room for the first thread") = body.code;
    bodies
}

struct Body<'a> {
    objects: &'a Objects,
    code: Vec<Code>,
    loops: usize,
    kept: usize,
}

const ZERO: Test = Test::Is(0);

impl Body<'_> {
    fn new(objects: &Objects) -> Body<'_> {
        Body {
            objects,
            code: Vec::new(),
            loops: 0,
            kept: 0,
        }
    }

    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn act(&mut self, act: Act) {
        self.code.push(Code::Act(act));
    }

    fn fold(&mut self, act: Act) {
        self.act(act);
        self.code.push(Code::Fold);
    }

    /// What is done only if the condition holds.
    fn when(&mut self, condition: If, inside: impl FnOnce(&mut Self)) {
        let at = self.code.len();
        self.code.push(Code::Jump(0));
        inside(self);
        self.code[at] = Code::Unless(condition, self.code.len());
    }

    /// Acts until the result is as tested.
    fn until(&mut self, test: Test, round: impl FnOnce(&mut Self)) {
        let start = self.code.len();
        round(self);
        self.code.push(Code::Unless(If::T(test), start));
    }

    /// Waits in a loop until a plain variable has a value.
    fn wait_loop(&mut self, stmt: &Stmt) {
        let start = self.code.len();
        // Jumps out when there is nothing to wait for.
        self.code.extend([Code::Jump(0), Code::Jump(0)]);
        let (plain, value) = match *stmt {
            Stmt::WaitUntil {
                condvar,
                plain,
                value,
                timed,
            } => {
                self.fold(Act::Wait(condvar, timed));
                // And when the time is up.
                self.code.push(Code::Unless(If::V(Test::IsNot(0)), start));
                (plain, value)
            }
            Stmt::WaitOn {
                condvar,
                plain,
                value,
            } => {
                self.act(Act::Wait(condvar, true));
                self.code.push(Code::Jump(start));
                (plain, value)
            }
            _ => unreachable!("no such loop"),
        };
        self.code[start] = Code::Unless(If::Plain(plain, value), start + 2);
        self.code[start + 1] = Code::Jump(self.code.len());
    }

    fn section(&mut self, how: How, acts: [Act; 4], block: &Block) {
        let [wait, attempt, timed, undo] = acts;
        match how {
            How::Wait => self.act(wait),
            How::Try => self.act(attempt),
            How::Timed => self.act(timed),
            How::Spin => self.until(ZERO, |body| body.act(attempt)),
        }
        self.code.push(Code::Fold);
        self.when(If::V(ZERO), |body| {
            body.block(block);
            body.act(undo);
        });
    }

    fn keep(&mut self) -> usize {
        self.kept += 1;
        self.kept - 1
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Load(x, _) => self.fold(Act::Load(*x)),
            Stmt::Store(x, value, _) => self.act(Act::Store(*x, *value)),
            Stmt::Modify(x, kind, operand, _) => self.fold(Act::Modify(*x, *kind, *operand)),
            Stmt::Compare {
                atomic,
                expected,
                new,
                weak,
                ..
            } => {
                self.act(Act::Compare(*atomic, *expected, *new, *weak));
                self.code.extend([Code::FoldFound, Code::Fold]);
            }
            Stmt::Nothing(3) => self.code.push(Code::Touch),
            Stmt::Nothing(_) => {}
            Stmt::Locked(m, how, block) => {
                let m = *m;
                let acts = [
                    Act::Lock(m),
                    Act::TryLock(m),
                    Act::TimedLock(m),
                    Act::Unlock(m),
                ];
                self.section(*how, acts, block);
            }
            Stmt::Reading(l, how, block) => {
                let l = *l;
                let acts = [
                    Act::Read(l),
                    Act::TryRead(l),
                    Act::TimedRead(l),
                    Act::RwUnlock(l),
                ];
                self.section(*how, acts, block);
            }
            Stmt::Writing(l, how, block) => {
                let l = *l;
                let acts = [
                    Act::Write(l),
                    Act::TryWrite(l),
                    Act::TimedWrite(l),
                    Act::RwUnlock(l),
                ];
                self.section(*how, acts, block);
            }
            Stmt::Set(plain, value) => self.code.push(Code::Set(*plain, *value)),
            Stmt::Get(plain) => self.code.extend([Code::Get(*plain), Code::Fold]),
            Stmt::Wait { condvar, timed } => self.fold(Act::Wait(*condvar, *timed)),
            Stmt::WaitUntil { .. } | Stmt::WaitOn { .. } => self.wait_loop(stmt),
            Stmt::Signal(condvar) => self.act(Act::Signal(*condvar)),
            Stmt::Broadcast(condvar) => self.act(Act::Broadcast(*condvar)),
            Stmt::Down(s, How::Wait) => self.fold(Act::Down(*s)),
            Stmt::Down(s, How::Try) => self.fold(Act::TryDown(*s)),
            Stmt::Down(s, How::Timed) => self.fold(Act::TimedDown(*s)),
            Stmt::Down(s, How::Spin) => {
                self.until(ZERO, |body| body.act(Act::TryDown(*s)));
                self.code.push(Code::Fold);
            }
            Stmt::DownOn(s) => self.until(ZERO, |body| body.act(Act::TimedDown(*s))),
            Stmt::Up(s) => self.act(Act::Up(*s)),
            Stmt::Count(s) => self.fold(Act::Count(*s)),
            Stmt::Arrive(b) => self.fold(Act::Arrive(*b)),
            Stmt::Once(o, block) => {
                self.act(Act::OnceBegin(*o));
                self.when(If::T(ZERO), |body| {
                    body.code.push(Code::Enter);
                    body.block(block);
                    body.code.push(Code::Exit);
                    body.act(Act::OnceEnd(*o));
                });
            }
            Stmt::Any(n) => self.fold(Act::Any(*n)),
            Stmt::Assume(test) => self.act(Act::Assume(*test)),
            Stmt::SpinUntil {
                atomic,
                value,
                kept,
            } => {
                let slot = kept.then(|| self.keep());
                self.until(Test::Is(*value), |body| {
                    body.act(Act::Load(*atomic));
                    body.code.extend(slot.map(Code::Keep));
                });
                self.code.push(Code::Fold);
            }
            Stmt::SpinSwap(x, value) => {
                self.until(Test::IsNot(*value), |body| {
                    body.act(Act::Modify(*x, RmwKind::Swap, *value));
                });
                self.code.push(Code::Fold);
            }
            Stmt::SpinCompare(x, expected, new) => {
                self.until(Test::Is(1), |body| {
                    body.act(Act::Compare(*x, *expected, *new, false));
                });
                self.code.push(Code::Fold);
            }
            Stmt::Poll(plain, value) => {
                let mutex = self.objects.plains[*plain];
                let slot = self.keep();
                self.until(Test::Is(*value), |body| {
                    body.act(Act::Lock(mutex));
                    body.code.extend([Code::Get(*plain), Code::Keep(slot)]);
                    body.act(Act::Unlock(mutex));
                });
                self.code.push(Code::Fold);
            }
            Stmt::Watch(first, second, value) => {
                let start = self.code.len();
                self.act(Act::Load(*first));
                let test = If::T(Test::IsNot(*value));
                self.code.extend([Code::Jump(0)]);
                let out = self.code.len() - 1;
                self.act(Act::Load(*second));
                self.code.push(Code::Unless(If::T(Test::Is(*value)), start));
                self.code[out] = Code::Unless(test, self.code.len());
                self.code.push(Code::Fold);
            }
            Stmt::If(test, block) => self.when(If::V(*test), |body| body.block(block)),
            Stmt::Repeat(times, block) => {
                let slot = self.loops;
                self.loops += 1;
                self.code.push(Code::Begin(slot));
                let start = self.code.len();
                self.block(block);
                self.code.push(Code::Again(slot, *times, start));
            }
            Stmt::Spawn(number, _) => self.code.push(Code::Spawn(*number)),
            Stmt::Join(number) => {
                self.act(Act::Join(*number));
                self.code.push(Code::FoldThread(*number));
            }
            Stmt::Leave(ending) => self.code.push(Code::End(*ending)),
        }
    }
}

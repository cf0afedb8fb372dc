//! The shadow with the race detector's clocks, in the order of calls that a target must keep to.

use reweave_memory::{Clash, Kind, RaceDetector, Shadow};
use reweave_model::{
    Event, Gate, Machine, Object, ObjectId, Op, Order, Rmw, RmwKind, Site, ThreadId,
};

const FLAG: usize = 0x7000_0000_1000;
const DATA: usize = FLAG + 64;

/// A run under way with two threads, as a target conducts it.
struct Target {
    machine: Machine,
    detector: RaceDetector,
    shadow: Shadow,
    flag: ObjectId,
}

impl Target {
    fn new() -> Target {
        let mut machine = Machine::default();
        let mut detector = RaceDetector::default();
        let mut shadow = Shadow::new(reweave_memory::fresh).expect("there is address space");
        machine.clear();
        detector.clear();
        shadow.clear();
        let main = machine.spawn(None);
        let other = machine.spawn(Some(main));
        detector.spawn(main, other);
        let flag = machine.create(Object::Atomic(2));
        Target {
            machine,
            detector,
            shadow,
            flag,
        }
    }

    fn turn(&mut self, thread: ThreadId) {
        self.shadow.turn(thread, self.detector.epoch(thread));
    }

    fn plain(&mut self, thread: u32, address: usize, kind: Kind) -> Option<Clash> {
        let thread = ThreadId(thread);
        self.turn(thread);
        let clock = self.detector.clock(thread);
        self.shadow.access(clock, address, 8, kind, Site(1))
    }

    /// An operation on the flag: what it is, and what it does to the memory.
    fn atomic(&mut self, thread: u32, op: Op, kind: Kind, order: Order) -> Option<Clash> {
        let thread = ThreadId(thread);
        self.turn(thread);
        let effect = self.machine.apply(thread, op, 0);
        let event = Event {
            thread,
            op,
            gate: Gate::Open,
            outcome: 0,
            outcomes: 1,
            ok: effect.ok,
            result: effect.result,
            after: effect.after,
            access: effect.access,
            site: Site(2),
            order: order.into(),
        };
        self.detector.event(&event);
        let clock = self.detector.clock(thread);
        let found = self.shadow.access(clock, FLAG, 8, kind, Site(2));
        self.turn(thread);
        found
    }

    fn load(&mut self, thread: u32, order: Order) -> Option<Clash> {
        self.atomic(thread, Op::Load(self.flag), Kind::AtomicRead, order)
    }

    fn store(&mut self, thread: u32, order: Order) -> Option<Clash> {
        let op = Op::Store(self.flag, 1);
        self.atomic(thread, op, Kind::AtomicWrite, order)
    }

    fn drop_one(&mut self, thread: u32, order: Order) -> Option<Clash> {
        let rmw = Rmw {
            kind: RmwKind::Sub,
            operand: 1,
            bits: 64,
        };
        let op = Op::Rmw(self.flag, rmw);
        self.atomic(thread, op, Kind::AtomicWrite, order)
    }
}

/// One thread writes plainly, the flag too, and sets the flag; the other looks at it and reads.
#[test]
fn what_an_atomic_operation_acquires_comes_before_it() {
    for (order, ordered) in [(Order::AcqRel, true), (Order::Relaxed, false)] {
        let mut target = Target::new();
        assert_eq!(target.plain(1, FLAG, Kind::Write), None);
        assert_eq!(target.plain(1, DATA, Kind::Write), None);
        assert_eq!(target.store(1, order), None);
        let seen = target.load(0, order);
        assert_eq!(
            seen.map(|clash| clash.kind),
            (!ordered).then_some(Kind::Write)
        );
        let read = target.plain(0, DATA, Kind::Read);
        assert_eq!(read.is_none(), ordered);
    }
}

/// Two owners; the last one gives back the counter itself.
#[test]
fn an_atomic_operation_comes_before_what_follows_its_release() {
    for (order, ordered) in [(Order::AcqRel, true), (Order::Relaxed, false)] {
        let mut target = Target::new();
        assert_eq!(target.plain(1, DATA, Kind::Read), None);
        assert_eq!(target.drop_one(1, order), None);
        assert_eq!(target.drop_one(0, order), None);
        let clock = target.detector.clock(ThreadId(0));
        let found = target.shadow.free(clock, FLAG, 72, Site(3));
        assert_eq!(found.is_none(), ordered);
        let kinds: Vec<Kind> = target
            .shadow
            .clashes()
            .iter()
            .map(|clash| clash.kind)
            .collect();
        let expected: &[Kind] = &[Kind::AtomicWrite, Kind::Read];
        assert_eq!(kinds, if ordered { &[] } else { expected });
        // Whatever the order: it is gone.
        let after = target.load(1, order).map(|clash| clash.kind);
        assert_eq!(after, Some(Kind::Free));
    }
}

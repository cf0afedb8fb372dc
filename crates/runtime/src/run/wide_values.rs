//! Atomics that are no words: of 16 bytes, or of any size that the compiler leaves to a library.
//!
//! The model's values have 8 bytes: it gets a word for each value, which is the value itself if that is small, and otherwise a number that
//! two values share exactly if they are equal. Memory holds the values themselves. So loads, stores, exchanges and compare-exchanges
//! are one operation each.

use crate::{
    core::{modules, trampoline::Frame},
    run::{
        atomic_objects::{self, order},
        world::{self, Done, perform, poll},
    },
};
use alloc::{collections::BTreeMap, vec::Vec};
use core::{ptr, slice};
use reweave_model::{Gate, ObjectId, Op, Rmw, RmwKind};

/// The large values of a run, by the words that the model has for them.
#[derive(Default)]
pub struct Values(BTreeMap<u64, Vec<u8>>);

impl Values {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The word for a value; `None`: another value has it.
    fn word(&mut self, value: &[u8]) -> Option<u64> {
        const LARGE: u64 = 1 << 63;
        let (first, rest) = value.split_at(value.len().min(8));
        let mut small = [0; 8];
        small[..first.len()].copy_from_slice(first);
        let small = u64::from_le_bytes(small);
        if rest.iter().all(|byte| *byte == 0) && (small < LARGE || rest.is_empty()) {
            return Some(small);
        }
        let word = mixed(value) | LARGE;
        let known = self.0.entry(word).or_insert_with(|| value.into());
        (known == value).then_some(word)
    }

    /// The value of so many bytes that a word stands for.
    pub fn of(&self, word: u64, bytes: usize) -> Vec<u8> {
        let small = || word.to_le_bytes().to_vec();
        let mut value = self.0.get(&word).cloned().unwrap_or_else(small);
        value.resize(bytes, 0);
        value
    }
}

/// A number that depends on all of a value.
fn mixed(value: &[u8]) -> u64 {
    let mut sum = value.len() as u64;
    for part in value.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        sum = (sum ^ sum >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        sum = sum.wrapping_add(u64::from_le_bytes(word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        sum = (sum ^ sum >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
    }
    sum ^ sum >> 32
}

/// A memory order of a call, and that of its failure.
#[derive(Clone, Copy)]
pub struct Orders(pub i32, pub i32);

/// An access of the program to an atomic, in a run. Values are passed by address, as many bytes as the atomic has.
pub struct Access<'a> {
    pub address: *mut u8,
    pub bytes: usize,
    pub frame: &'a Frame,
}

impl Access<'_> {
    /// The model's word for a value.
    fn word(&self, value: *const u8) -> u64 {
        // SAFETY: a value of the program's, of this size.
        let value = unsafe { slice::from_raw_parts(value, self.bytes) };
        let mut world = world::borrow();
        world.use_parts(value, modules::site(self.frame.return_address));
        let word = world.values.word(value);
        drop(world);
        word.unwrap_or_else(|| {
            let site = modules::site(self.frame.return_address);
            world::unsupported("two values of an atomic that look alike", site)
        })
    }

    /// What is there at the moment, to a variable of the program's.
    pub fn read(&self, into: *mut u8) {
        // SAFETY: both are the program's own, of this size; they may be one.
        unsafe { ptr::copy(self.address, into, self.bytes) };
    }

    fn write(&self, value: *const u8) {
        // SAFETY: both are the program's own, of this size; they may be one.
        unsafe { ptr::copy(value, self.address, self.bytes) };
    }

    /// Does what `op` makes of the object.
    fn perform(&self, orders: Orders, op: impl FnOnce(ObjectId) -> Op) -> Done {
        let now = self.word(self.address);
        let site = modules::site(self.frame.return_address);
        let address = self.address as usize;
        let object = match self.bytes {
            1 | 2 | 4 | 8 if address.is_multiple_of(self.bytes) => {
                atomic_objects::atomic(address, self.bytes, now, site)
            }
            _ => atomic_objects::wide(address, self.bytes, now, site),
        };
        let (success, failure) = (order(orders.0), order(orders.1));
        match op(object) {
            op @ Op::Store(..) => perform(op, Gate::Open, site, success, None),
            op @ Op::CompareExchange { .. } => poll(op, self.frame, site, success, Some(failure)),
            op => poll(op, self.frame, site, success, None),
        }
    }

    pub fn load(&self, order: i32) {
        self.perform(Orders(order, order), Op::Load);
    }

    pub fn store(&self, value: *const u8, order: i32) {
        let word = self.word(value);
        self.perform(Orders(order, order), |object| Op::Store(object, word));
        self.write(value);
    }

    /// What was there goes to `old`, which may be where the new value is.
    pub fn exchange(&self, new: *const u8, old: *mut u8, order: i32) {
        let rmw = Rmw {
            kind: RmwKind::Swap,
            operand: self.word(new),
            bits: 64,
        };
        self.perform(Orders(order, order), |object| Op::Rmw(object, rmw));
        // SAFETY: values of the program's, of this size.
        let new = unsafe { slice::from_raw_parts(new, self.bytes) }.to_vec();
        self.read(old);
        self.write(new.as_ptr());
    }

    /// Whether it was as expected, and is the new value now.
    pub fn compare(&self, expected: *const u8, new: *const u8, orders: Orders, weak: bool) -> bool {
        let (old, replacement) = (self.word(expected), self.word(new));
        let done = self.perform(orders, |object| Op::CompareExchange {
            object,
            expected: old,
            new: replacement,
            weak,
        });
        if done.ok {
            self.write(new);
        }
        done.ok
    }
}

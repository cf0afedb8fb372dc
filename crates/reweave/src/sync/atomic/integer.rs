//! Integers and booleans.

use super::{Ordering, Word, exchange, id, load, look, modify, store};
use crate::rt::{self, Slot};
use reweave_model::RmwKind;
use std::{
    fmt,
    sync::atomic::{self as std_atomic, Ordering::Relaxed},
};

/// What every atomic has.
macro_rules! atomic {
    ($name:ident, $value:ty) => {
        #[doc = concat!("As [`std::sync::atomic::", stringify!($name), "`].")]
        pub struct $name {
            slot: Slot,
            inner: std_atomic::$name,
        }

        impl $name {
            /// As in std.
            #[inline]
            #[must_use]
            pub const fn new(value: $value) -> $name {
                $name {
                    slot: Slot::new(),
                    inner: std_atomic::$name::new(value),
                }
            }

            /// As in std. In a check it is a load, if others may have stored something.
            #[inline]
            #[track_caller]
            pub fn get_mut(&mut self) -> &mut $value {
                look(&self.slot);
                self.slot.forget();
                self.inner.get_mut()
            }

            /// As in std. In a check it is a load, if others may have stored something; hence it is not `const`.
            #[inline]
            #[track_caller]
            pub fn into_inner(self) -> $value {
                look(&self.slot);
                self.inner.into_inner()
            }

            /// As loom's: the value, which nobody else has, by a reference for the length of the call. In a check it is a load.
            #[track_caller]
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                f(self.get_mut())
            }

            /// As loom's: the value, without synchronisation. In a check it is a load.
            ///
            /// # Safety
            /// Nothing stores meanwhile.
            #[track_caller]
            pub unsafe fn unsync_load(&self) -> $value {
                self.load(Relaxed)
            }

            /// As in std. In a check, what is done through it is not seen.
            #[inline]
            pub const fn as_ptr(&self) -> *mut $value {
                self.inner.as_ptr()
            }

            /// As in std.
            #[inline(always)]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                let this = rt::here(self);
                if rt::active() {
                    <$value>::from_word(load(this.id(), order))
                } else {
                    rt::inert();
                    this.inner.load(order)
                }
            }

            /// As in std.
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                let this = rt::here(self);
                if rt::active() {
                    store(this.id(), value.to_word(), order);
                    this.inner.store(value, Relaxed);
                } else {
                    rt::inert();
                    this.inner.store(value, order);
                }
            }

            /// As in std.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.exchange((current, new), false, (success, failure))
            }

            /// As in std. In a check it may fail for no reason, once in a row.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.exchange((current, new), true, (success, failure))
            }

            /// As in std.
            #[inline(always)]
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                let mut previous = self.load(fetch_order);
                while let Some(next) = f(previous) {
                    match self.compare_exchange(previous, next, set_order, fetch_order) {
                        Ok(value) => return Ok(value),
                        Err(value) => previous = value,
                    }
                }
                Err(previous)
            }

            /// As in std.
            #[inline(always)]
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.fetch_update(set_order, fetch_order, f)
            }

            /// As in std.
            #[inline(always)]
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: impl FnMut($value) -> $value,
            ) -> $value {
                let updated = self.fetch_update(set_order, fetch_order, |value| Some(f(value)));
                updated.unwrap_or_else(|value| value)
            }

            #[inline(always)]
            #[track_caller]
            fn exchange(
                &self,
                (current, new): ($value, $value),
                weak: bool,
                orders: (Ordering, Ordering),
            ) -> Result<$value, $value> {
                let this = rt::here(self);
                if !rt::active() {
                    rt::inert();
                    return if weak {
                        this.inner
                            .compare_exchange_weak(current, new, orders.0, orders.1)
                    } else {
                        this.inner
                            .compare_exchange(current, new, orders.0, orders.1)
                    };
                }
                let words = (current.to_word(), new.to_word());
                let (before, done) = exchange(this.id(), words, weak, orders);
                let before = <$value>::from_word(before);
                if done {
                    this.inner.store(new, Relaxed);
                    Ok(before)
                } else {
                    Err(before)
                }
            }

            #[inline(always)]
            #[track_caller]
            fn id(&self) -> reweave_model::ObjectId {
                id(&self.slot, || self.inner.load(Relaxed).to_word())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.load(Relaxed).fmt(f)
            }
        }
    };
}

/// Read-modify-writes: std's name, the model's, and the operation on the value inside.
macro_rules! modifies {
    ($name:ident, $value:ty, $bits:expr, $($method:ident $kind:ident),+) => {
        impl $name {
            $(
                /// As in std.
                #[inline(always)]
                #[track_caller]
                pub fn $method(&self, value: $value, order: Ordering) -> $value {
                    let this = rt::here(self);
                    if rt::active() {
                        let before = modify(this.id(), RmwKind::$kind, value.to_word(), $bits, order);
                        this.inner.$method(value, Relaxed);
                        <$value>::from_word(before)
                    } else {
                        rt::inert();
                        this.inner.$method(value, order)
                    }
                }
            )+
        }

        impl Default for $name {
            fn default() -> $name {
                $name::new(<$value>::default())
            }
        }

        impl From<$value> for $name {
            fn from(value: $value) -> $name {
                $name::new(value)
            }
        }
    };
}

macro_rules! integers {
    ($($name:ident $value:ident $unsigned:ident $bits:literal $max:ident $min:ident;)+) => {$(
        impl Word for $value {
            #[inline]
            fn to_word(self) -> u64 {
                self as $unsigned as u64
            }

            #[inline]
            fn from_word(word: u64) -> $value {
                word as $value
            }
        }

        atomic!($name, $value);
        modifies!(
            $name, $value, $bits, swap Swap, fetch_add Add, fetch_sub Sub, fetch_and And, fetch_nand Nand, fetch_or Or,
            fetch_xor Xor, fetch_max $max, fetch_min $min
        );
    )+};
}

integers! {
    AtomicI8 i8 u8 8 MaxSigned MinSigned;
    AtomicI16 i16 u16 16 MaxSigned MinSigned;
    AtomicI32 i32 u32 32 MaxSigned MinSigned;
    AtomicI64 i64 u64 64 MaxSigned MinSigned;
    AtomicIsize isize usize 64 MaxSigned MinSigned;
    AtomicU8 u8 u8 8 Max Min;
    AtomicU16 u16 u16 16 Max Min;
    AtomicU32 u32 u32 32 Max Min;
    AtomicU64 u64 u64 64 Max Min;
    AtomicUsize usize usize 64 Max Min;
}

impl Word for bool {
    #[inline]
    fn to_word(self) -> u64 {
        u64::from(self)
    }

    #[inline]
    fn from_word(word: u64) -> bool {
        word != 0
    }
}

// One bit, so that the complement in `fetch_nand` is a boolean's.
atomic!(AtomicBool, bool);
modifies!(AtomicBool, bool, 1, swap Swap, fetch_and And, fetch_nand Nand, fetch_or Or, fetch_xor Xor);

impl AtomicBool {
    /// As in std.
    #[inline(always)]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

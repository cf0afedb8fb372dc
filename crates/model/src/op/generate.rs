//! The macro behind [the table of operations](super::table): from one row for each operation it generates the enum, the numbers, the
//! names and every conversion. Nothing here knows a particular operation.
//!
//! A row is
//!
//! ```text
//! /// documentation
//! 8 Lock(ObjectId) [0: object] "lock" Mutex Competes Acquire ("waits for {}", "cannot be had");
//! ```
//!
//! the number, the variant, its fields with their *roles*, the name in files and reports, the kind of object (`Any`, `Nothing`), when
//! it can go ([`Turn`](super::Turn)), how it orders threads ([`Synchronises`](super::Synchronises)), and for an operation that waits
//! what a thread waits for, long and short.
//!
//! A role says what a field means: `object`, `mutex`, `atomic`, `thread`, `count`, `value`, `expected`, `rmw`, `timed`, `flag`. It
//! decides where the field stands in [`Operands`](super::Operands) and in [`Code`](super::Code).

macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $number:literal $variant:ident $shape:tt [$($field:tt: $role:ident),*]
        $name:literal $kind:ident $turn:ident $sync:ident $(($what:literal, $brief:literal))?;
    )*) => {
        /// An operation that other threads can notice. A thread runs from one to the next without being interrupted.
        ///
        /// A condition-variable wait is `Enqueue`, `Wake`, `Lock`; taking a write lock is `WriteBegin`, `WriteAcquire`; a
        /// barrier is `Arrive`, then `Leave`. Timed operations (`timed: true`) never block: run before what they wait for, they
        /// time out.
        ///
        /// Taking a lock with a time limit is trying to take it: `TryLock`, `TryReadLock`, `TryWriteLock`. One that timed out before
        /// with nothing changed since is `TryLock` or `TryReadLock` with [`Gate::Late`](crate::Gate::Late), which wait until then; for
        /// writing it is `WriteBegin`, then `WriteAcquire`, both with that gate, since `TryWriteLock` must not wait for several
        /// readers.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub enum Op {
            $($(#[$doc])* $variant $shape,)*
        }

        const NUMBERS: &[u8] = &[$($number),*];
        const NAMES: [&str; NUMBERS.len()] = [$($name),*];
        const KINDS: [Option<ObjectKind>; NUMBERS.len()] = [$(object_kind!($kind)),*];
        const TURNS: [Turn; NUMBERS.len()] = [$(Turn::$turn),*];
        const SYNCHRONISES: [Synchronises; NUMBERS.len()] = [$(Synchronises::$sync),*];
        const WAITING: [Option<Waiting>; NUMBERS.len()] = [$(waiting!($($what, $brief)?)),*];
        const WORDS: [u8; NUMBERS.len()] = [$(words_of(&[$(words!($role)),*])),*];

        impl Op {
            /// The operation without its operands.
            #[inline]
            pub fn kind(self) -> OpKind {
                OpKind(match self {
                    $(Op::$variant { .. } => $number,)*
                })
            }

            /// The object it is about; a wait is about its condition variable.
            #[inline]
            pub fn object(self) -> Option<ObjectId> {
                let mut found = None;
                match self {
                    $(Op::$variant { $($field: $role),* } => { $(pick!(found, object, $role $role);)* })*
                }
                found
            }

            /// The mutex that it unlocks beside its object.
            pub fn mutex(self) -> Option<ObjectId> {
                let mut found = None;
                match self {
                    $(Op::$variant { $($field: $role),* } => { $(pick!(found, mutex, $role $role);)* })*
                }
                found
            }

            /// The atomic that it reads beside its object.
            pub fn atomic(self) -> Option<ObjectId> {
                let mut found = None;
                match self {
                    $(Op::$variant { $($field: $role),* } => { $(pick!(found, atomic, $role $role);)* })*
                }
                found
            }

            /// Whether it gives up after a time; `None`: such an operation has no time limit.
            #[inline]
            pub fn timed(self) -> Option<bool> {
                let mut found = None;
                match self {
                    $(Op::$variant { $($field: $role),* } => { $(pick!(found, timed, $role $role);)* })*
                }
                found
            }

            /// The same operation, with a time limit or without one, if it can have one.
            pub(super) fn with_timed(self, timed: bool) -> Op {
                match self {
                    $(Op::$variant { $($field: $role),* } => Op::$variant { $($field: replace_timed!($role $role, timed)),* },)*
                }
            }

            /// All operands by their roles.
            pub fn operands(self) -> Operands {
                let mut operands = Operands::default();
                match self {
                    $(Op::$variant { $($field: $role),* } => { $(operands.$role = Some($role);)* })*
                }
                operands
            }

            /// As numbers.
            #[inline]
            pub fn code(self) -> Code {
                let mut code = Code { kind: 0, flag: false, object: 0, words: [0; 2] };
                match self {
                    $(Op::$variant { $($field: $role),* } => {
                        code.kind = $number;
                        $(encode!(code, $role $role);)*
                    })*
                }
                code
            }
        }

        impl Code {
            /// The operation; `None`: these numbers are none.
            #[inline]
            pub fn op(self) -> Option<Op> {
                let code = self;
                Some(match code.kind {
                    $($number => Op::$variant { $($field: decode!(code, $role)),* },)*
                    _ => return None,
                })
            }
        }

        impl OpKind {
            /// The operation of this kind with these operands; `None`: one of its operands is missing.
            pub fn with(self, operands: &Operands) -> Option<Op> {
                Some(match self.0 {
                    $($number => Op::$variant { $($field: operands.$role?),* },)*
                    _ => return None,
                })
            }
        }
    };
}

/// The kind of object in a row.
macro_rules! object_kind {
    (Nothing) => {
        None
    };
    (Any) => {
        None
    };
    ($kind:ident) => {
        Some(ObjectKind::$kind)
    };
}

/// The text of a row that waits.
macro_rules! waiting {
    () => {
        None
    };
    ($what:literal, $brief:literal) => {
        Some(Waiting {
            what: $what,
            brief: $brief,
        })
    };
}

/// `found = Some(value)` if the value has the wanted role.
macro_rules! pick {
    ($found:ident, object, object $value:ident) => {
        $found = Some($value);
    };
    ($found:ident, mutex, mutex $value:ident) => {
        $found = Some($value);
    };
    ($found:ident, atomic, atomic $value:ident) => {
        $found = Some($value);
    };
    ($found:ident, timed, timed $value:ident) => {
        $found = Some($value);
    };
    ($found:ident, $wanted:ident, $role:ident $value:ident) => {
        let _ = $value;
    };
}

/// A field of an operation whose time limit is replaced.
macro_rules! replace_timed {
    (timed $value:ident, $timed:ident) => {{
        let _ = $value;
        $timed
    }};
    ($role:ident $value:ident, $timed:ident) => {
        $value
    };
}

/// How many words of [`Code`](super::Code) a field needs to be read.
macro_rules! words {
    (mutex) => {
        1
    };
    (atomic) => {
        1
    };
    (count) => {
        1
    };
    (value) => {
        1
    };
    (expected) => {
        2
    };
    (rmw) => {
        2
    };
    ($other:ident) => {
        0
    };
}

/// Puts a field into its place.
macro_rules! encode {
    ($code:ident, object $value:ident) => {
        $code.object = $value.0
    };
    ($code:ident, thread $value:ident) => {
        $code.object = $value.0
    };
    ($code:ident, mutex $value:ident) => {
        $code.words[0] = $value.0.into()
    };
    ($code:ident, atomic $value:ident) => {
        $code.words[0] = $value.0.into()
    };
    ($code:ident, count $value:ident) => {
        $code.words[0] = $value.into()
    };
    ($code:ident, value $value:ident) => {
        $code.words[0] = $value
    };
    ($code:ident, expected $value:ident) => {
        $code.words[1] = $value
    };
    ($code:ident, rmw $value:ident) => {
        $code.words = [
            $value.kind as u64 | u64::from($value.bits) << 8,
            $value.operand,
        ]
    };
    ($code:ident, timed $value:ident) => {
        $code.flag = $value
    };
    ($code:ident, flag $value:ident) => {
        $code.flag = $value
    };
}

/// The inverse of `encode`.
macro_rules! decode {
    ($code:ident, object) => {
        ObjectId($code.object)
    };
    ($code:ident, thread) => {
        ThreadId($code.object)
    };
    ($code:ident, mutex) => {
        ObjectId($code.words[0] as u32)
    };
    ($code:ident, atomic) => {
        ObjectId($code.words[0] as u32)
    };
    ($code:ident, count) => {
        $code.words[0] as u32
    };
    ($code:ident, value) => {
        $code.words[0]
    };
    ($code:ident, expected) => {
        $code.words[1]
    };
    ($code:ident, rmw) => {
        Rmw::from_words($code.words)?
    };
    ($code:ident, timed) => {
        $code.flag
    };
    ($code:ident, flag) => {
        $code.flag
    };
}

pub(super) use {decode, encode, object_kind, operations, pick, replace_timed, waiting, words};

//! Memory orders: what an atomic operation or a fence promises to other threads.

use core::sync::atomic::Ordering;
use serde::{Deserialize, Serialize};

/// The memory order that an atomic operation or a fence asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Order {
    #[default]
    SeqCst,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
}

impl Order {
    const ALL: [Order; 5] = [
        Order::SeqCst,
        Order::Relaxed,
        Order::Acquire,
        Order::Release,
        Order::AcqRel,
    ];

    /// Whether a read with it synchronises with the release it reads from.
    pub fn acquires(self) -> bool {
        !matches!(self, Order::Relaxed | Order::Release)
    }

    /// Whether a write with it hands on what its thread has done.
    pub fn releases(self) -> bool {
        !matches!(self, Order::Relaxed | Order::Acquire)
    }
}

impl From<Ordering> for Order {
    fn from(order: Ordering) -> Order {
        match order {
            Ordering::Relaxed => Order::Relaxed,
            Ordering::Acquire => Order::Acquire,
            Ordering::Release => Order::Release,
            Ordering::AcqRel => Order::AcqRel,
            _ => Order::SeqCst,
        }
    }
}

/// The orders that an operation declares. All but atomic operations imply theirs and have [`Orders::IMPLIED`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Orders {
    /// If it succeeds.
    pub success: Order,
    /// If it is a compare-exchange and fails; otherwise the same.
    pub failure: Order,
}

impl Orders {
    /// Of operations without a declared order.
    pub const IMPLIED: Orders = Orders {
        success: Order::SeqCst,
        failure: Order::SeqCst,
    };

    /// As declared; without an order for failure it is that for success.
    pub fn new(success: Order, failure: Option<Order>) -> Orders {
        Orders {
            success,
            failure: failure.unwrap_or(success),
        }
    }

    /// Whether one of them is weaker than sequential consistency.
    pub fn weak(self) -> bool {
        self != Orders::IMPLIED
    }

    /// As a number below 64; 0: [`Orders::IMPLIED`].
    #[inline]
    pub fn number(self) -> u8 {
        self.success as u8 | (self.failure as u8) << 3
    }

    /// From its number.
    #[inline]
    pub fn of_number(number: u8) -> Option<Orders> {
        Some(Orders {
            success: *Order::ALL.get(usize::from(number & 7))?,
            failure: *Order::ALL.get(usize::from(number >> 3))?,
        })
    }
}

impl From<Order> for Orders {
    fn from(order: Order) -> Orders {
        Orders::new(order, None)
    }
}

//! Waiting for the turn: first in, first out, over all processes.
//!
//! A waiter is a ticket in the storage's queue and one that asks: each ask is its heartbeat, its poll and its try. Every rule
//! that keeps the queue live sits in the ask; the wake-up only makes it fast.

mod waiter;

pub(crate) use waiter::{GaveUp, Waiter};

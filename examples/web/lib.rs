//! What the web examples share: everything that isn't a handler.

#![cfg(feature = "web")]

mod bank;
mod client;
mod demo;
mod start;

pub use bank::{Bank, Charge};
pub use client::{Answer, Call};
pub use start::{Start, budget, charge_time, locks};

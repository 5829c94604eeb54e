//! What an annotated function does: it excludes, it keeps the order of drops, it returns what its body returned.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attribute;
mod drop_order;
mod exclusion;
mod guard;
mod holding;
mod manager;
mod or_else;
mod outcomes;
mod reentry;
mod send;
mod sizes;
mod skip;
mod support;
mod when;

//! Masters that are killed, frozen, replaced by hand or out of their slots, while locks are held, waited for and taken.
//!
//! Each prints how long no lock could be had, beside how long no write could be written at all.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod confirmed;
mod frozen;
mod killed;
mod load;
mod resharding;
mod rights;
mod unattended;

use std::time::Duration;

use tests::timing;

/// How much longer than the servers themselves need a lock may be out of reach.
fn more() -> Duration {
    timing::millis(500)
}

/// A lease that outlives a failover.
fn lease() -> Duration {
    timing::millis(10_000)
}

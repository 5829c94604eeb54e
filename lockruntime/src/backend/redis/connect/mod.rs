//! Where connections come from.
//!
//! The client library never reconnects after time-outs, and a call to a dead connection waits for its own back-off: hence a
//! supervisor of our own around plain connections, one [`Line`] per endpoint.

mod endpoint;
mod failure;
mod hearing;
mod link;
pub(super) mod look;
mod standalone;
#[cfg(feature = "tls")]
mod tls;

pub(super) use endpoint::Endpoint;
pub(super) use failure::Failure;
pub(super) use link::Link;
pub(super) use standalone::Line;

//! Where connections come from.
//!
//! The client library never reconnects after time-outs, and a call to a dead connection waits for its own back-off: hence a
//! supervisor of our own around plain connections, one [`Line`] per server.

#[cfg(feature = "cluster")]
mod cluster;
mod endpoint;
mod failure;
mod hearing;
mod line;
mod link;
pub(super) mod look;
#[cfg(feature = "sentinel")]
mod sentinel;
#[cfg(feature = "tls")]
mod tls;
mod way;

#[cfg(feature = "cluster")]
pub(super) use cluster::Cluster;
pub(super) use endpoint::Endpoint;
#[cfg(any(feature = "cluster", feature = "sentinel"))]
pub(super) use endpoint::Manner;
pub(super) use line::Source;
pub(super) use link::Link;
#[cfg(feature = "sentinel")]
pub(super) use sentinel::Sentinels;
#[cfg(feature = "tls")]
pub(super) use tls::Trust;
pub(super) use way::{Way, Ways};

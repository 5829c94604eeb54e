//! The lock's protocol as a model that is searched through completely, and its scripts against that model on a real server.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that panics has failed, as it should; a step fits one or two phases and is void in all others"
)]

mod attempt;
mod checker;
mod holds;
mod left_out;
mod quorum;
mod rules;
mod scripts;
mod server;
mod world;

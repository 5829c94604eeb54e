//! One suite over every backend. A file per backend says how it is built; the cases stand once, in the rooms of `suite`.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod cluster;
mod memory;
mod quorum;
mod redis;
mod redis_least;
mod sentinel;
mod suite;

//! What is told of locks: events, spans, metrics, and the files for those who watch them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

mod events;
mod metrics;
mod redaction;
mod spans;

//! What the attribute takes: one form a test, and each runs. In its body a rival asks for the same key and must be refused, so
//! with a macro that returns its input every test fails; `unlocked` shows it. Built in the editions of 2021 and 2024.

mod arguments;
mod async_trait;
mod attributes;
mod calls;
mod generics;
mod guards;
mod hygiene;
mod keys;
mod lifetimes;
mod lints;
mod macros;
mod modifiers;
mod patterns;
mod receivers;
mod results;
mod shared;
mod skipped;
mod traits;

//! The attribute of [`lockruntime`](https://docs.rs/lockruntime), which re-exports it and documents it in full. Depend on
//! `lockruntime`, not on this crate: the two are one API and pin each other exactly.
//!
//! The way through the files: `args` reads the attribute, `value`, `duration` and `template` its values; `signature` reads
//! the function, `boxed` the async block that it may return, `parameter` and `pattern` what it binds; `key` joins the two, and `expand` writes the new body.
#![forbid(unsafe_code)]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "syntax trees have dozens of kinds, and get more"
)]

mod args;
mod boxed;
mod duration;
mod expand;
mod key;
mod output;
mod parameter;
mod pattern;
mod signature;
mod spelling;
mod template;
mod value;
mod words;

use proc_macro::TokenStream;

/// Runs an async function under a distributed lock: `#[distributed_lock(key = "boleto:<id>", lease = "30s")]`.
#[proc_macro_attribute]
pub fn distributed_lock(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(attribute.into(), item.into()).into()
}

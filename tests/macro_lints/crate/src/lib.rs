//! A crate that denies every warning, of the compiler and of clippy, pedantic ones and nursery ones included: the attribute's
//! code draws none.
#![deny(
    warnings,
    future_incompatible,
    let_underscore,
    nonstandard_style,
    rust_2018_idioms,
    rust_2024_compatibility,
    unused
)]
#![deny(
    elided_lifetimes_in_paths,
    explicit_outlives_requirements,
    let_underscore_drop,
    missing_debug_implementations,
    missing_docs,
    redundant_imports,
    redundant_lifetimes,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unnameable_types,
    unreachable_pub,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences
)]
#![forbid(unsafe_code)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
// what people turn on of the restrictions
#![deny(
    clippy::absolute_paths,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::default_numeric_fallback,
    clippy::expect_used,
    clippy::implicit_return,
    clippy::indexing_slicing,
    clippy::let_underscore_must_use,
    clippy::let_underscore_untyped,
    clippy::missing_docs_in_private_items,
    clippy::panic,
    clippy::pattern_type_mismatch,
    clippy::print_stdout,
    clippy::shadow_reuse,
    clippy::shadow_same,
    clippy::shadow_unrelated,
    clippy::unreachable,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]
#![expect(
    clippy::needless_return,
    reason = "one of the two lints about returns always fires"
)]

use std::future::{pending, ready};
use std::rc::Rc;
use std::time::Duration;

use async_trait::async_trait;
use lockruntime::{LockError, LockManager, distributed_lock};
use tracing::instrument;

/// What most functions return.
type Answer<T> = Result<T, LockError>;

/// Work that may fail.
async fn work(text: &str) -> Answer<usize> {
    ready(()).await;
    return Ok(text.len());
}

/// The README's form.
///
/// # Errors
/// When the lock isn't to be had.
#[distributed_lock(key = "boleto:<id>", lease = "30s", mode = "queue", wait = "1s")]
pub async fn only_in_the_key(id: u64) -> Answer<usize> {
    return work("").await;
}

/// Arguments that only the attribute's expressions use.
///
/// # Errors
/// When the lock isn't to be had.
#[distributed_lock(
    key = ["a:<id>:<x>", "b"],
    lease = Duration::from_secs(lease),
    max_hold = most,
    max_waiters = waiters,
    watchdog = true,
    reentrant = false,
    on_lost = "continue",
    release = "background",
    manager = locks,
    when = !dry_run
)]
pub async fn only_in_the_attribute(
    id: u64,
    (x, _): (u64, String),
    (lease, _): (u64, u8),
    most: Duration,
    waiters: u32,
    locks: &LockManager,
    dry_run: bool,
) -> Answer<usize> {
    return work("").await;
}

/// Patterns and names that nobody uses.
///
/// # Errors
/// When the lock isn't to be had.
#[distributed_lock(key = "c:<_named>")]
pub async fn unnamed(_: String, _named: u8, (..): (u8, u8), [first, ..]: [u8; 3]) -> Answer<u8> {
    let _ignored: usize = work("").await?;
    return Ok(first);
}

/// A body that never ends well.
///
/// # Errors
/// When the lock isn't to be had.
#[distributed_lock(key = "d")]
pub async fn never_ends() -> Answer<u64> {
    loop {
        pending::<()>().await;
    }
}

/// A refusal by closure, and a hold.
#[distributed_lock(key = "e", or_else = move |error| error.to_string().len().max(least), guard = hold)]
pub async fn or_else(least: usize) -> usize {
    let found = work(hold.key().as_str()).await;
    return found.unwrap_or(least);
}

/// A refusal by path, and nothing to return.
#[distributed_lock(key = "e", or_else = drop)]
pub async fn nothing() {
    drop(work("").await);
}

/// An opaque type in the output.
///
/// # Errors
/// When the lock isn't to be had.
#[distributed_lock(key = "g")]
pub async fn opaque() -> Answer<(impl Fn() -> usize, &'static (impl Copy + Send))> {
    let length = work("").await?;
    return Ok((move || return length, &1_u8));
}

/// Generics, lifetimes, and what isn't `Send`.
///
/// # Errors
/// When the lock isn't to be had.
#[expect(clippy::future_not_send, reason = "the argument isn't `Send`")]
#[distributed_lock(key = "g:<text>")]
pub async fn generic<'a, T, const N: usize>(
    text: &'a str,
    list: [T; N],
    _rc: Rc<u8>,
) -> Answer<(&'a str, usize)>
where
    T: Sync,
{
    let length = work(text).await?;
    return Ok((text, list.len().max(length)));
}

/// Makes a function.
macro_rules! made {
    ($name:ident, $body:block) => {
        /// Made by a macro.
        ///
        /// # Errors
        /// When the lock isn't to be had.
        #[distributed_lock(key = "h")]
        pub async fn $name() -> Answer<usize> $body
    };
}
made!(made, { return work("").await });

/// Methods of every kind.
#[derive(Clone, Debug)]
pub struct Service {
    /// Whose it is.
    tenant: String,
}

impl Service {
    /// By reference.
    ///
    /// # Errors
    /// When the lock isn't to be had.
    #[expect(clippy::implicit_return, reason = "it is the code of `instrument`")]
    #[distributed_lock(key = "tenant:<self.tenant>:<id>")]
    #[instrument(skip_all)]
    pub async fn by_ref(&self, id: u64) -> Answer<usize> {
        return work(&self.tenant).await;
    }

    /// By value, changed.
    ///
    /// # Errors
    /// When the lock isn't to be had.
    #[instrument(skip_all)]
    #[distributed_lock(key = "tenant:<self.tenant>")]
    pub async fn by_value(mut self, mut more: String) -> Answer<Self> {
        more.push('!');
        self.tenant.push_str(&more);
        let _length: usize = work(&self.tenant).await?;
        return Ok(self);
    }

    /// Unused.
    ///
    /// # Errors
    /// When the lock isn't to be had.
    #[distributed_lock(key = "unused")]
    pub async fn unused(self) -> Answer<usize> {
        return work("").await;
    }
}

/// Boxed methods.
#[async_trait]
pub trait Pay {
    /// Pays.
    ///
    /// # Errors
    /// When the lock isn't to be had.
    async fn pay(&self, id: u64, text: &str) -> Answer<usize>;
}

#[async_trait]
impl Pay for Service {
    #[expect(clippy::implicit_return, reason = "it is the code of `async_trait`")]
    #[distributed_lock(key = "pay:<id>:<self.tenant>")]
    async fn pay(&self, id: u64, text: &str) -> Answer<usize> {
        return work(text).await;
    }
}

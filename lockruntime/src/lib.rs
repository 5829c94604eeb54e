//! A distributed lock for async Rust services, with an attribute.
//!
//! Two instances of a service receive the same boleto at the same moment. One must pay it; the other must wait its turn, or be
//! told no.
//!
#![cfg_attr(feature = "macros", doc = "```")]
#![cfg_attr(not(feature = "macros"), doc = "```ignore")]
//! use lockruntime::{LockError, LockManager, distributed_lock};
//!
//! #[distributed_lock(key = "boleto:<id>", lease = "30s", mode = "queue")]
//! async fn pay(id: u64) -> Result<String, LockError> {
//!     Ok(format!("boleto {id} is paid"))
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! // in production: LockManager::from_env()?, which reads LOCK_URL=redis://host:6379
//! LockManager::from_url("memory://")?.install()?;
//! assert_eq!(pay(42).await?, "boleto 42 is paid");
//! # Ok(()) })
//! # }
//! ```
//!
//! - The function runs under a lock that is held in Redis, renewed while it runs, and released on every way out.
//! - `mode = "queue"` waits for its turn, first in, first out over all processes; `mode = "reject"` is refused at once; `mode = "skip"`
//!   isn't run then, for jobs that many processes start. `permits = 3` and `access = "read"` share a lock.
//! - A function that loses its lock is **stopped before anyone else may enter**.
//! - Every grant has a [`FencingToken`], so that your store can refuse a late writer; a body finds its own through [`current`].
//! - Without the attribute: [`LockManager::lock`] gives a [`LockGuard`].
//!
//! # Backends
//!
//! | URL | what | queue | fencing | wake-ups |
//! | --- | --- | --- | --- | --- |
//! | `memory://` | one process, for tests and single programs | first in, first out | yes | yes |
//! | `redis://`, `rediss://`, `redis+unix://` | one Redis, 6.2 or later; with TLS; over a socket of this machine | first in, first out over processes | yes | yes; polling without channel rights |
//! | `redis+sentinel://` | the master that sentinels name, and the next one after a failover | first in, first out over processes | yes | yes; polling without channel rights |
//! | `redis+cluster://` | a Redis Cluster, each lock on the master of its slot | first in, first out over processes | yes | yes; polling without channel rights |
//! | `redlock://` | a majority of independent masters | about in the order of arrival | yes | yes; polling without channel rights |
//!
//! `redis://user:password@host:6379/2` names user and database; over a socket they stand in the query:
//! `redis+unix:///run/redis.sock?user=u&pass=p&db=2`. `?protocol=2` speaks RESP2, for what stands between and doesn't know
//! RESP3. `rediss://host:6380?tls_ca=ca.pem&tls_cert=client.pem&tls_key=client.key` trusts that authority only, and shows that
//! certificate; without them it trusts whom the machine trusts.
//!
//! `?app=payments&env=staging` keeps systems that share a Redis apart; without it all programs on a Redis are one system.
//!
//! # Features
//!
//! | feature | default | what it brings |
//! | --- | --- | --- |
//! | `macros` | yes | the attribute |
//! | `redis` | yes | `redis://` and `redis+unix://` |
//! | `tls` | | `rediss://`, by rustls |
//! | `sentinel` | | `redis+sentinel://`, the master that sentinels name |
//! | `cluster` | | `redis+cluster://`, a Redis Cluster |
//! | `quorum` | | `redlock://`, a majority of independent masters |
//! | `axum` | | refusals as axum responses, and a layer that gives handlers their manager |
//! | `actix` | | refusals as actix-web responses, and a middleware that gives handlers their manager |
//! | `serde` | | a [`FencingToken`] in JSON and other formats |
//! | `tracing` | | a span for each locked call; a lost lock as a warning, outages at debug |
//! | `cli` | | the program `lockctl`: who holds what, who waits, and why |
//! | `dashboard` | | a page that shows holds and queues live, as an axum router; with `cli` also `lockctl serve` |
//! | `metrics` | | counters, histograms and a gauge, by the `metrics` crate |
//!
#![doc = include_str!("docs/guarantees.md")]
//!
#![doc = include_str!("docs/sharing.md")]
//!
#![doc = include_str!("docs/wire.md")]
//!
#![doc = include_str!("docs/rights.md")]
//!
#![doc = include_str!("docs/operating.md")]
#![doc = include_str!("docs/quorum.md")]
#![doc = include_str!("docs/topologies.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod argument;
pub mod backend;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod clock;
mod current;
mod error;
mod guard;
mod health;
mod hold;
mod key;
mod lease;
mod manager;
mod options;
mod queue;
mod reentry;
mod refusal;
#[cfg(any(feature = "cli", feature = "dashboard"))]
mod report;
mod telemetry;
#[cfg(feature = "tls")]
mod tls;
mod token;
mod watchdog;
#[cfg(any(feature = "actix", feature = "axum"))]
pub mod web;

#[cfg(all(fuzzing, feature = "redis"))]
#[doc(hidden)]
pub mod __fuzzing;
#[doc(hidden)]
pub mod __private;

pub use __private::KeyValue;
pub use argument::{AsManager, OrElse};
pub use current::{InstallError, current};
pub use error::{BackendError, BackendErrorKind, ConfigError, LockError, LossReason};
pub use guard::{Hold, LockGuard};
pub use health::{Finding, Health};
pub use key::LockKey;
#[cfg(feature = "macros")]
#[doc = include_str!("docs/attribute.md")]
pub use lockmacro::distributed_lock;
pub use manager::{LockManager, LockManagerBuilder, LockRequest};
pub use options::{Mode, OnLost, Sharing};
pub use refusal::{FromLockError, FromRefusal, FromSkipped, Unrun};
pub use telemetry::{Event, Redact, Subject};
#[cfg(feature = "tls")]
pub use tls::TlsSettings;
pub use token::{FencingToken, OwnerToken};

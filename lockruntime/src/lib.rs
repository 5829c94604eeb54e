//! placeholder docs
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub mod backend;
mod clock;
mod current;
mod error;
mod guard;
mod hold;
mod key;
mod lease;
mod manager;
mod options;
mod queue;
mod refusal;
mod telemetry;
mod token;
mod watchdog;

#[doc(hidden)]
pub mod __private;

pub use __private::KeyValue;
pub use current::{InstallError, current};
pub use error::{BackendError, BackendErrorKind, ConfigError, LockError, LossReason};
pub use guard::{Hold, LockGuard};
pub use key::LockKey;
#[cfg(feature = "macros")]
pub use lockmacro::distributed_lock;
pub use manager::{LockManager, LockManagerBuilder, LockRequest};
pub use options::Mode;
pub use refusal::{FromLockError, FromRefusal};
pub use token::{FencingToken, OwnerToken};

//! The lock manager: where calls get their locks.

mod acquire;
mod builder;
mod naming;
pub(crate) mod run;
#[cfg(not(fuzzing))]
mod url;
#[cfg(fuzzing)]
pub(crate) mod url;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use acquire::LockRequest;
pub use builder::LockManagerBuilder;
use naming::Naming;
pub(crate) use run::run_call;

use crate::__private::Call;
use crate::backend::memory::MemoryBackend;
use crate::backend::{Capabilities, Snapshot};
use crate::current::{self, InstallError};
use crate::error::{ConfigError, LockError};
use crate::guard::LockGuard;
use crate::hold::Life;
use crate::key::LockKey;
use crate::options::{Defaults, LONGEST_LEASE, Mode, SHORTEST_LEASE, Timing};
use crate::reentry::{self, Link};
use crate::watchdog::{Order, Watchdog};

/// Where calls get their locks: a backend, its defaults, and the keeper that renews and gives back.
///
/// Cheap to clone; all clones are one manager. Annotated functions find theirs by task ([`scope`](Self::scope)), else by
/// process ([`install`](Self::install)).
///
/// A manager has one thread of its own. When the last clone and the last guard are gone, the thread ends once everything is
/// given back; a process that ends earlier should call [`shutdown`](Self::shutdown), else its locks end with their leases.
#[derive(Clone, Debug)]
pub struct LockManager {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    watchdog: Watchdog,
    defaults: Defaults,
    naming: Naming,
    capabilities: Capabilities,
}

impl LockManager {
    /// Locks within this process only, for tests and single-process programs.
    ///
    /// # Panics
    ///
    /// When the operating system refuses a thread.
    #[must_use]
    pub fn memory() -> Self {
        Self::builder()
            .backend(MemoryBackend::new())
            .build()
            .expect("only a thread that can't be started fails here")
    }

    /// A manager for a URL: `memory://`, `redis://user:password@host:port/db` or `redis+unix:///path?db=0`, with `app=` and
    /// `env=` as query where several systems share a Redis. It connects in the background: a wrong address shows with the
    /// first call.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] when the URL can't be used; it says what is wrong with it, without the password.
    pub fn from_url(url: &str) -> Result<Self, ConfigError> {
        Self::builder().url(url).build()
    }

    /// A manager for the URL in `LOCK_URL`, with `LOCK_APP` and `LOCK_ENV` where the URL doesn't say.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] when `LOCK_URL` is missing or can't be used.
    pub fn from_env() -> Result<Self, ConfigError> {
        let url = std::env::var("LOCK_URL").map_err(|_missing| {
            ConfigError::new("LOCK_URL is not set; set it to redis://host:6379, or to memory:// for a single process")
        })?;
        Self::from_url(&url)
    }

    /// A manager with settings of its own.
    pub fn builder() -> LockManagerBuilder {
        LockManagerBuilder::new()
    }

    /// Makes this manager the process's default.
    ///
    /// # Errors
    ///
    /// [`InstallError`] when there is one already; the first stays.
    pub fn install(&self) -> Result<(), InstallError> {
        current::install(self.clone())
    }

    /// Runs `future` with this manager for the annotated functions it calls, whatever the process's default is. Tasks that it
    /// spawns are outside.
    ///
    /// Dropping the returned future drops `future`.
    pub fn scope<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        current::scope(self.clone(), future)
    }

    /// A lock by its key, for what the attribute can't say.
    pub fn lock<'a>(&'a self, key: &'a str) -> LockRequest<'a> {
        LockRequest::new(self, key)
    }

    /// Who holds a key and who waits for it, at this moment. Reads only. Dropping the future drops the answer.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidKey`], [`LockError::Backend`] or [`LockError::Permission`].
    pub async fn snapshot(&self, key: &str) -> Result<Snapshot, LockError> {
        let mode = Mode::Queue;
        let key = LockKey::from_text(key, self.inner.defaults.key_limit).map_err(|reason| {
            LockError::InvalidKey {
                template: key.to_owned(),
                mode,
                reason: reason.to_string(),
            }
        })?;
        let record = self.inner.naming.record(&key);
        self.inner
            .watchdog
            .snapshot(record)
            .await
            .map_err(|source| LockError::from_backend(key, mode, source))
    }

    /// What this manager's backend can do.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.inner.capabilities
    }

    /// Ends this manager's work within `budget`: new calls are refused and waiting ones end with
    /// [`LockError::ShuttingDown`] at once; running bodies have most of the budget, then they are stopped with
    /// [`LockError::Lost`]; their locks are given back. Returns when nothing is left, at the latest when the budget is over, also
    /// if the storage hangs.
    ///
    /// Dropping the future doesn't stop the shutdown. Later calls wait for the same one.
    pub async fn shutdown(&self, budget: Duration) {
        self.inner.watchdog.shutdown(budget).await;
    }

    pub(crate) fn key_limit(&self) -> usize {
        self.inner.defaults.key_limit
    }

    /// What an annotated call asks for. Boxed, as the keeper takes it: the caller's future stays small.
    pub(crate) fn order_call(&self, call: Call) -> Result<Box<Order>, LockError> {
        let mode = call.mode;
        let key = call
            .key
            .finish(self.key_limit())
            .map_err(|reason| LockError::InvalidKey {
                template: call.template.to_owned(),
                mode,
                reason: reason.to_string(),
            })?;
        self.order(key, mode, call.lease, call.wait, call.name_of)
    }

    pub(crate) fn order(
        &self,
        key: LockKey,
        mode: Mode,
        lease: Option<Duration>,
        wait: Option<Duration>,
        name_of: &str,
    ) -> Result<Box<Order>, LockError> {
        let Inner {
            defaults, naming, ..
        } = &*self.inner;
        let lease = lease.unwrap_or(defaults.lease);
        if !(SHORTEST_LEASE..=LONGEST_LEASE).contains(&lease) {
            return Err(LockError::InvalidLease { key, mode, lease });
        }
        Ok(Box::new(Order {
            record: naming.record(&key),
            holder: Arc::new(naming.holder(name_of)),
            timing: Timing::new(lease, defaults.heartbeat, defaults.grace),
            wait: wait.or(defaults.wait).filter(|_| mode == Mode::Queue),
            release_timeout: defaults.release_timeout,
            life: Arc::new(Life::new(key, mode)),
        }))
    }

    /// The body of this call chain that has the ordered lock already.
    pub(crate) fn held(&self, order: &Order) -> Option<Arc<Link>> {
        reentry::held(&self.inner.watchdog, &order.record)
    }

    pub(crate) async fn acquire(&self, order: Box<Order>) -> Result<LockGuard, LockError> {
        let (life, watchdog) = self.inner.watchdog.acquire(order).await?;
        Ok(LockGuard::new(life, watchdog))
    }
}

//! The lock manager: where calls get their locks.

mod acquire;
mod builder;
mod inspect;
mod naming;
pub(crate) mod run;
mod several;
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
use several::Several;

use crate::__private::{Call, CallKey, Said};
use crate::backend::Capabilities;
use crate::backend::memory::MemoryBackend;
use crate::current::{self, InstallError};
use crate::error::{BackendError, ConfigError, LockError};
use crate::guard::LockGuard;
use crate::health::Health;
use crate::hold::{Bounds, Life};
use crate::key::LockKey;
use crate::options::{Defaults, LONGEST_LEASE, Mode, SHORTEST_LEASE, Sharing, Terms, Timing};
use crate::reentry::{self, Link};
use crate::telemetry::{CallSpan, Observer, Redact};
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
    observer: Arc<Observer>,
    redact: Redact,
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

    /// A manager for a URL: `memory://`, `redis://user:password@host:port/db`, `rediss://` or `redis+unix:///path?db=0`, with
    /// `app=` and `env=` as query where several systems share a Redis; the crate's page has all of it. It connects in the
    /// background: a wrong address shows with the first call.
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

    /// A manager for the server of the application's own client, of the crate `redis` 1: its address, user, database, protocol
    /// and TLS are taken over, the connections are the manager's own. `LOCK_APP` and `LOCK_ENV` as in
    /// [`from_env`](Self::from_env).
    ///
    /// With TLS the client library needs a process-wide crypto provider of rustls; without one every call is an error.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] when the client's settings can't be used.
    #[cfg(feature = "redis")]
    pub fn from_client(client: &redis::Client) -> Result<Self, ConfigError> {
        Self::builder().client(client).build()
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

    /// Several locks by their keys: all or none, within one wait, and in an order in which no two calls wait for each other
    /// (unless one is nested in another's body). Each key has its own fencing token, see [`Hold::each`](crate::Hold::each). A key
    /// that is given twice is locked once.
    ///
    /// The keys are taken one after the other, so those that come first are held while the others are waited for.
    ///
    /// ```
    /// # async fn body() -> Result<(), lockruntime::LockError> {
    /// let locks = lockruntime::LockManager::memory();
    /// let guard = locks.lock_all(["account:7", "account:3"]).acquire().await?;
    /// for hold in guard.each() {
    ///     println!("{} with token {}", hold.key(), hold.fencing_token());
    /// }
    /// guard.release().await?;
    /// # Ok(()) }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(body()).unwrap();
    /// ```
    pub fn lock_all<'a>(&'a self, keys: impl IntoIterator<Item = &'a str>) -> LockRequest<'a> {
        LockRequest::several(self, keys.into_iter().collect())
    }

    /// A look at the storage: whether it can hold locks, and whether it will keep them. What is found when the manager first
    /// connects is also logged, each finding once. Reads only. Dropping the future drops the answer.
    ///
    /// ```
    /// # async fn check(locks: &lockruntime::LockManager) -> Result<(), Box<dyn std::error::Error>> {
    /// let health = locks.health().await?;
    /// for finding in &health.findings {
    ///     eprintln!("{finding}");
    /// }
    /// assert!(health.is_sound());
    /// # Ok(()) }
    /// # let locks = lockruntime::LockManager::memory();
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(check(&locks)).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`BackendError`] when the storage could not be looked at: it can't be reached, or refuses user or password.
    pub async fn health(&self) -> Result<Health, BackendError> {
        self.inner.watchdog.call(|backend| backend.health()).await
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

    pub(crate) fn redaction(&self) -> Redact {
        self.inner.redact
    }

    pub(crate) fn watchdog(&self) -> &Watchdog {
        &self.inner.watchdog
    }

    /// What an annotated call asks for.
    pub(crate) fn want_call(&self, call: Call) -> Result<Wanted, LockError> {
        let Said {
            name_of,
            terms,
            key,
            before,
            ..
        } = *call.0;
        let finish = |key: CallKey| {
            let template = key.template;
            let key = key.filling.finish(self.key_limit());
            let key = key.map_err(|reason| LockError::InvalidKey {
                template: template.to_owned(),
                mode: terms.mode,
                reason: reason.to_string(),
            })?;
            Ok(Named { key, template })
        };
        if before.is_empty() {
            return self.want(finish(key)?, terms, name_of);
        }
        let keys = before.into_iter().chain([key]).map(finish);
        self.want_all(keys.collect::<Result<_, _>>()?, terms, name_of)
    }

    /// One key.
    pub(crate) fn want(
        &self,
        key: Named,
        terms: Terms,
        name_of: &str,
    ) -> Result<Wanted, LockError> {
        let order = self.order(key, terms, name_of)?;
        Ok(Wanted::One(Box::new(order)))
    }

    /// Several keys, one at least.
    pub(crate) fn want_all(
        &self,
        keys: Vec<Named>,
        terms: Terms,
        name_of: &str,
    ) -> Result<Wanted, LockError> {
        let orders = keys
            .into_iter()
            .map(|key| self.order(key, terms, name_of))
            .collect::<Result<_, _>>()?;
        Ok(Wanted::Several(Several::new(orders, terms.sharing)))
    }

    fn order(&self, named: Named, terms: Terms, name_of: &str) -> Result<Order, LockError> {
        let Inner {
            defaults, naming, ..
        } = &*self.inner;
        let Named { key, template } = named;
        let key = key.redact(self.inner.redact, template);
        let mode = terms.mode;
        let lease = terms.lease.unwrap_or(defaults.lease);
        let min_hold = terms.min_hold.unwrap_or_default();
        let longest = self.inner.capabilities.longest_lease.min(LONGEST_LEASE);
        let invalid = |key, what, lease| LockError::InvalidLease {
            key,
            mode,
            what,
            lease,
            longest,
        };
        if !(SHORTEST_LEASE..=longest).contains(&lease) {
            return Err(invalid(key, "lease", lease));
        }
        if min_hold > longest {
            return Err(invalid(key, "min_hold", min_hold));
        }
        let sharing = terms.sharing;
        let unsupported = match sharing {
            _ if self.inner.capabilities.shares => None,
            Sharing::Alone => None,
            Sharing::Permits(_) => Some("permits"),
            Sharing::Read | Sharing::Write => Some("readers and writers"),
        };
        if let Some(what) = unsupported {
            return Err(LockError::Unsupported { key, mode, what });
        }
        if sharing == Sharing::Permits(0) {
            return Err(LockError::InvalidPermits { key, mode });
        }
        let bounds = Bounds {
            lease,
            watchdog: terms.watchdog,
            max_hold: terms.max_hold,
            on_lost: terms.on_lost,
            longest,
        };
        // a wait is for those who wait
        let waits = |_: &_| mode == Mode::Queue;
        Ok(Order {
            record: naming.record(&key),
            holder: Arc::new(naming.holder(name_of)),
            timing: Timing::new(lease, defaults.heartbeat, defaults.grace),
            wait: terms.wait.or(defaults.wait).filter(waits),
            max_waiters: terms.max_waiters.or(defaults.max_waiters),
            min_hold,
            release_timeout: defaults.release_timeout,
            reentrant: terms.reentrant,
            life: Arc::new(
                Life::new(key, mode, bounds)
                    .shared(sharing)
                    .observed(template, Arc::clone(&self.inner.observer)),
            ),
        })
    }

    /// The body of this call chain that has this lock already.
    pub(crate) fn held(&self, record: &str) -> Option<Arc<Link>> {
        reentry::held(&self.inner.watchdog, record)
    }

    pub(crate) async fn acquire(&self, order: Box<Order>) -> Result<LockGuard, LockError> {
        let (life, watchdog) = self.inner.watchdog.acquire(order).await?;
        let guard = LockGuard::new(life, watchdog);
        guard.start();
        Ok(guard)
    }
}

/// A key with the template that it was filled from.
pub(crate) struct Named {
    pub(crate) key: LockKey,
    pub(crate) template: &'static str,
}

/// What a call wants. Boxed, as the keeper takes it: the caller's future stays small.
#[derive(Debug)]
pub(crate) enum Wanted {
    One(Box<Order>),
    Several(Several),
}

impl Wanted {
    /// Tells the call's span what is wanted.
    fn describe(&self) {
        let (first, more) = match self {
            Self::One(order) => (Some(&**order), 0),
            Self::Several(several) => several.first(),
        };
        if let Some(Order { life, .. }) = first {
            let key = life.key.shown();
            match more {
                0 => CallSpan::wants(&key, life.template(), life.mode),
                _ => CallSpan::wants(
                    &format_args!("{key} and {more} more"),
                    life.template(),
                    life.mode,
                ),
            }
        }
    }
}

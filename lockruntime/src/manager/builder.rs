//! A manager with settings of its own, checked when it is built.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::Backend;
use crate::error::ConfigError;
use crate::manager::naming::Naming;
use crate::manager::url::Location;
use crate::manager::{Inner, LockManager};
use crate::options::{Defaults, LONGEST_LEASE, SHORTEST_LEASE};
use crate::telemetry::{Event, Hook, Observer, Redact};
#[cfg(feature = "tls")]
use crate::tls::TlsSettings;
use crate::watchdog::Watchdog;

/// Settings of a [`LockManager`]; each has a default but the backend.
///
/// ```
/// use std::time::Duration;
///
/// let locks = lockruntime::LockManager::builder()
///     .url("memory://")
///     .app("payments")
///     .environment("staging")
///     .wait(Duration::from_secs(5))
///     .build()?;
/// # Ok::<(), lockruntime::ConfigError>(())
/// ```
#[derive(Default)]
#[must_use = "call build"]
pub struct LockManagerBuilder {
    backend: Option<Result<Arc<dyn Backend>, ConfigError>>,
    url: Option<String>,
    #[cfg(feature = "tls")]
    tls: Option<TlsSettings>,
    app: Option<String>,
    environment: Option<String>,
    confirm_replicas: Option<usize>,
    defaults: Defaults,
    hook: Option<Hook>,
    redact: Redact,
}

impl fmt::Debug for LockManagerBuilder {
    /// Without the URL, which may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockManagerBuilder")
            .field("backend", &self.backend)
            .field("app", &self.app)
            .field("environment", &self.environment)
            .field("defaults", &self.defaults)
            .finish_non_exhaustive()
    }
}

impl LockManagerBuilder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Where locks are stored; instead of a URL.
    pub fn backend(mut self, backend: impl Backend) -> Self {
        self.backend = Some(Ok(Arc::new(backend)));
        self
    }

    /// The server of the application's own client, as in [`LockManager::from_client`]; instead of a URL.
    #[cfg(feature = "redis")]
    pub fn client(mut self, client: &redis::Client) -> Self {
        let backend = crate::backend::redis::RedisBackend::from_client(client);
        self.backend = Some(backend.map(|backend| Arc::new(backend) as _));
        self
    }

    /// Certificates for a `rediss://` URL, instead of files named in it.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: TlsSettings) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Where locks are stored, as in [`LockManager::from_url`]; instead of a backend.
    pub fn url(mut self, url: &str) -> Self {
        self.url = Some(url.to_owned());
        self
    }

    /// A grant counts only once so many replicas have it; a URL says it as `?confirm_replicas=1`. Else the call is
    /// [`LockError::NotReplicated`](crate::LockError::NotReplicated), and what was granted is taken back. Renewals count the same
    /// way: a hold that too few replicas have ends with its lease.
    ///
    /// For one Redis with replicas, Sentinel and Cluster. It makes a lock that a failover forgets less likely, and impossible
    /// only where all replicas are asked for: one that has not got it may be promoted.
    pub fn confirm_replicas(mut self, replicas: usize) -> Self {
        self.confirm_replicas = Some(replicas);
        self
    }

    /// The system the locks belong to, part of every key; `LOCK_APP`, else `app`. All programs that exclude each other must
    /// agree on it. Letters, digits, `.`, `_` and `-`.
    pub fn app(mut self, app: &str) -> Self {
        self.app = Some(app.to_owned());
        self
    }

    /// The environment the locks belong to, part of every key; `LOCK_ENV`, else `prod`.
    pub fn environment(mut self, environment: &str) -> Self {
        self.environment = Some(environment.to_owned());
        self
    }

    /// The lease of calls that don't say, 100 ms to 24 h, and no longer than the backend gives (on a quorum 60 s); 30 s by
    /// default. A crashed holder's lock is free after it.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.defaults.lease = lease;
        self
    }

    /// The longest wait of queue calls that don't say; unlimited by default.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.defaults.wait = Some(wait);
        self
    }

    /// The longest queue that queue calls join that don't say; unlimited by default. See
    /// [`LockRequest::max_waiters`](crate::LockRequest::max_waiters).
    pub fn max_waiters(mut self, most: u32) -> Self {
        self.defaults.max_waiters = Some(most);
        self
    }

    /// The longest time between two asks of a waiter, at least 20 ms; 1 s by default, and never more than two fifths of the
    /// grace or lease.
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.defaults.heartbeat = heartbeat;
        self
    }

    /// How long a lock that was handed to a waiter stays with it unclaimed, at least 100 ms; 2.5 s by default. A dead waiter
    /// costs its successors this.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.defaults.grace = grace;
        self
    }

    /// How long a call waits for its release to be confirmed; 1 s by default.
    pub fn release_timeout(mut self, timeout: Duration) -> Self {
        self.defaults.release_timeout = timeout;
        self
    }

    /// The longest key in bytes, after escaping; 512 by default, at least 128. Longer keys keep a prefix and a hash.
    pub fn key_limit(mut self, limit: usize) -> Self {
        self.defaults.key_limit = limit;
        self
    }

    /// Told of everything that happens to this manager's locks, for applications that use neither `tracing` nor `metrics`.
    ///
    /// It runs where the event happens: in the caller's task, or on the thread that renews all locks of this manager. So it must
    /// be quick and must not block; send what takes longer elsewhere. A panic in it harms no lock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use lockruntime::{Event, LockManager};
    ///
    /// let lost = Arc::new(AtomicU64::new(0));
    /// let counted = Arc::clone(&lost);
    /// let locks = LockManager::builder()
    ///     .url("memory://")
    ///     .on_event(move |event| {
    ///         if let Event::Lost { lock, .. } = event {
    ///             eprintln!("lost {:?} of {}", lock.key, lock.template);
    ///             counted.fetch_add(1, Ordering::Relaxed);
    ///         }
    ///     })
    ///     .build()?;
    /// # Ok::<(), lockruntime::ConfigError>(())
    /// ```
    pub fn on_event(mut self, hook: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
        self.hook = Some(Arc::new(hook));
        self
    }

    /// What of a key shows in logs, spans, the text of errors, and the bodies of HTTP answers; all of it by default, but for
    /// HTTP answers.
    pub fn redact(mut self, redact: Redact) -> Self {
        self.redact = redact;
        self
    }

    /// Holds and waits longer than this are told as stuck, each once; 5 minutes by default.
    pub fn warn_after(mut self, after: Duration) -> Self {
        self.defaults.warn_after = after;
        self
    }

    /// A queue with more callers than this is told as too long, at most once a minute; never by default.
    pub fn warn_queue(mut self, most: u32) -> Self {
        self.defaults.warn_queue = Some(most);
        self
    }

    /// Builds the manager and starts its thread.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] that names the setting that can't be used.
    pub fn build(self) -> Result<LockManager, ConfigError> {
        self.check()?;
        let Self {
            backend,
            url,
            #[cfg(feature = "tls")]
            tls,
            app,
            environment,
            confirm_replicas,
            defaults,
            hook,
            redact,
        } = self;
        let backend = backend.transpose()?;
        let mut location = match (&backend, url) {
            (Some(_), Some(_)) => {
                return Err(ConfigError::new("give a backend or a URL, not both"));
            }
            (None, None) => {
                return Err(ConfigError::new(
                    "a manager needs a backend or a URL, such as redis://host:6379 or memory://",
                ));
            }
            #[cfg(feature = "tls")]
            (Some(_), None) if tls.is_some() => {
                return Err(ConfigError::new(
                    "certificates for TLS need a rediss:// URL",
                ));
            }
            (Some(_), None) => None,
            (None, Some(url)) => Some(Location::parse(&url)?),
        };
        if let Some(replicas) = confirm_replicas {
            let Some(location) = &mut location else {
                return Err(ConfigError::new("confirm_replicas needs a URL"));
            };
            location.confirmed_by(replicas)?;
        }
        let named = location.as_ref();
        let app = app
            .or_else(|| named?.app.clone())
            .or_else(|| std::env::var("LOCK_APP").ok());
        let environment = environment
            .or_else(|| named?.environment.clone())
            .or_else(|| std::env::var("LOCK_ENV").ok());
        let naming = Naming::new(app.as_deref(), environment.as_deref())?;
        let backend = match (backend, location) {
            (Some(backend), _) => backend,
            #[cfg(feature = "tls")]
            (None, Some(location)) if tls.is_some() => {
                location.backend_with(&tls.unwrap_or_default())?
            }
            (None, Some(location)) => location.backend()?,
            (None, None) => unreachable!("one of the two was given"),
        };
        let capabilities = backend.capabilities();
        let longest = capabilities.longest_lease;
        if defaults.lease > longest {
            return Err(ConfigError::new(format!(
                "the lease {:?} is longer than this backend gives; set one of {longest:?} at most",
                defaults.lease
            )));
        }
        let warn_queue = defaults.warn_queue.map(u64::from);
        let observer = Arc::new(Observer::new(hook, defaults.warn_after, warn_queue));
        let watchdog = Watchdog::start(backend, Arc::clone(&naming.channel), Arc::clone(&observer))
            .map_err(|error| {
                ConfigError::new(format!(
                    "the lock manager's thread can't be started: {error}"
                ))
            })?;
        Ok(LockManager {
            inner: Arc::new(Inner {
                watchdog,
                defaults,
                naming,
                capabilities,
                observer,
                redact,
            }),
        })
    }

    fn check(&self) -> Result<(), ConfigError> {
        let Defaults {
            lease,
            heartbeat,
            grace,
            key_limit,
            ..
        } = self.defaults;
        if !(SHORTEST_LEASE..=LONGEST_LEASE).contains(&lease) {
            return Err(ConfigError::new(format!(
                "the lease {lease:?} must be 100 ms to 24 h"
            )));
        }
        if heartbeat < Duration::from_millis(20) {
            return Err(ConfigError::new(format!(
                "the heartbeat {heartbeat:?} must be at least 20 ms"
            )));
        }
        if grace < Duration::from_millis(100) {
            return Err(ConfigError::new(format!(
                "the grace {grace:?} must be at least 100 ms"
            )));
        }
        if key_limit < 128 {
            return Err(ConfigError::new(format!(
                "the key limit {key_limit} must be at least 128 bytes"
            )));
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "quorum"))]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_the_backend_does_not_give_is_refused_when_the_manager_is_built() {
        let build = |seconds| {
            LockManager::builder()
                .url("redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")
                .lease(Duration::from_secs(seconds))
                .build()
        };
        build(60).unwrap();
        let error = build(61).unwrap_err().to_string();
        assert_eq!(
            error,
            "the lease 61s is longer than this backend gives; set one of 60s at most"
        );
    }
}

//! One form of annotated function, called while a rival tries to enter.
//!
//! [`case`] runs a call with a memory manager of its own; [`refused`] stands in the body and panics unless the body holds its
//! key: with a macro that only returns its input every case fails.

use std::future::Future;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use lockruntime::LockManager;

/// The rival of one case.
#[derive(Clone, Debug)]
pub struct Rival {
    locks: LockManager,
    refusals: Arc<AtomicUsize>,
}

tokio::task_local! {
    static CASE: Rival;
}

static PROCESS: OnceLock<Rival> = OnceLock::new();

impl Rival {
    /// With a memory manager of its own.
    #[must_use]
    pub fn new() -> Self {
        Self {
            locks: LockManager::memory(),
            refusals: Arc::default(),
        }
    }

    /// Where it tries to take the lock.
    #[must_use]
    pub fn locks(&self) -> &LockManager {
        &self.locks
    }

    /// How often it was refused.
    #[must_use]
    pub fn refusals(&self) -> usize {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Bodies that run in here find this rival. (It doesn't set their manager.)
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        CASE.scope(self, future).await
    }

    fn of_this_task() -> Self {
        let case = CASE.try_with(Self::clone).ok();
        case.or_else(|| PROCESS.get().cloned())
            .expect("called inside of a case, or after of_the_process")
    }
}

impl Default for Rival {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs a case on one thread, with a manager of its own. Some body of it must have called [`refused`].
#[track_caller]
pub fn case<F: Future>(case: F) -> F::Output {
    let rival = Rival::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let scoped = rival.locks.scope(rival.clone().scope(case));
    let output = runtime.block_on(scoped);
    assert!(
        rival.refusals() > 0,
        "no body let its rival try, so nothing is shown"
    );
    output
}

/// For forms that build a runtime of their own: the rival of whoever has none, its manager the process's default.
///
/// # Panics
///
/// When another manager is the default already.
pub fn of_the_process() -> &'static Rival {
    PROCESS.get_or_init(|| {
        let rival = Rival::new();
        rival.locks.install().expect("nobody else installs one");
        rival
    })
}

/// The rival of the case that runs here.
///
/// # Panics
///
/// Outside of a case, before [`of_the_process`] was called.
#[must_use]
pub fn here() -> Rival {
    Rival::of_this_task()
}

/// The manager of the case that runs here.
#[must_use]
pub fn locks() -> LockManager {
    here().locks
}

/// To be called in a body: panics unless the body holds `key`.
#[track_caller]
pub fn refused(key: &str) -> impl Future<Output = ()> + Send + use<> {
    let caller = Location::caller();
    let key = key.to_owned();
    async move {
        let rival = here();
        let entered = rival.locks.lock(&key).try_acquire().await;
        let error = match entered {
            Ok(_guard) => panic!("a rival entered {key:?} at {caller}"),
            Err(error) => error,
        };
        assert!(error.is_busy(), "{error} at {caller}");
        rival.refusals.fetch_add(1, Ordering::Relaxed);
    }
}

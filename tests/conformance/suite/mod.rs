//! What every backend must do, whatever it is. Each case gets a [`Place`] of its own and ends with [`Scene::end`].

pub(crate) mod exits;
pub(crate) mod holding;
pub(crate) mod loss;
pub(crate) mod nesting;
pub(crate) mod queueing;
pub(crate) mod several;
pub(crate) mod sharing;
pub(crate) mod taking;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lockruntime::backend::Snapshot;
use lockruntime::{LockError, LockManager};
use tests::fault::Proxy;
use tests::timing;

/// One backend.
pub(crate) trait Place {
    /// An empty one.
    fn start() -> Self;

    /// A manager of its own, as another process would have it, with the tests' timings.
    fn manager(&self) -> LockManager;

    /// A manager whose connection can be cut.
    fn fragile(&self) -> (LockManager, Box<dyn Link>);

    /// Nothing of `boleto:<id>` is left, nothing panicked, and exactly so many warnings were logged.
    async fn end(&self, id: &str, warnings: usize);
}

/// The connection of one manager.
pub(crate) trait Link: Send {
    /// Puts the storage out of reach, silently.
    fn cut(&self);
    /// Brings it back.
    fn heal(&self);
}

/// The ways to all servers at once.
impl Link for Arc<Vec<Proxy>> {
    fn cut(&self) {
        self.iter().for_each(Proxy::black_hole);
    }

    fn heal(&self) {
        self.iter().for_each(Proxy::heal);
    }
}

/// A name for the environment of one case, where several share their servers.
pub(crate) fn new_environment() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("case{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// One case on one backend.
pub(crate) struct Scene<P> {
    pub(crate) place: P,
    /// The boleto, different in every test of the process.
    pub(crate) id: String,
    pub(crate) key: String,
}

impl<P: Place> Scene<P> {
    pub(crate) fn start(id: String) -> Self {
        Self {
            place: P::start(),
            key: format!("boleto:{id}"),
            id,
        }
    }

    /// Waits until the picture of the key is as wanted.
    pub(crate) async fn until(
        &self,
        manager: &LockManager,
        what: &str,
        wanted: impl Fn(&Snapshot) -> bool,
    ) {
        let look = async {
            loop {
                if wanted(&manager.snapshot(&self.key).await.unwrap()) {
                    return;
                }
                timing::pass(timing::tick()).await;
            }
        };
        timing::soon(what, look).await;
    }

    /// Waits until so many tickets wait.
    pub(crate) async fn until_waiting(&self, manager: &LockManager, count: usize) {
        self.until(manager, &format!("{count} wait"), |snapshot| {
            snapshot.waiting.len() == count
        })
        .await;
    }

    /// Somebody else gets the lock within a moment, so the last holder gave it back: its lease is longer.
    pub(crate) async fn assert_free(&self, manager: &LockManager) {
        let start = std::time::Instant::now();
        loop {
            match manager.lock(&self.key).try_acquire().await {
                Ok(guard) => return guard.release().await.unwrap(),
                Err(LockError::Busy { .. }) if start.elapsed() < timing::moment() => {
                    timing::pass(timing::tick()).await
                }
                Err(error) => panic!("not free after {:?}: {error}", start.elapsed()),
            }
        }
    }

    pub(crate) async fn end(self, warnings: usize) {
        self.place.end(&self.id, warnings).await;
    }
}

/// What happened, in order.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Vec<String>>);

impl Log {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Makes the suite's cases tests of one backend.
macro_rules! conformance {
    ($place:ty) => {
        $crate::suite::conformance! { $place, alone }
        $crate::suite::conformance! { $place:
            sharing::permits, sharing::permits_in_order, sharing::readers_and_writers, sharing::groups_in_order,
            sharing::a_writer_that_leaves, sharing::permits_differ, sharing::leases_of_their_own,
            sharing::bounds_of_shared_holds, sharing::nested_access, sharing::shared_limits,
        }
    };
    ($place:ty, alone) => {
        $crate::suite::conformance! { $place:
            taking::exclusion, taking::fencing_order, taking::reject, taking::reject_behind_a_live_queue, taking::skip, taking::different_keys,
            queueing::fifo, queueing::wait_limit, queueing::no_wait, queueing::cancelled_waiter, queueing::nobody_barges, queueing::woken_at_once,
            exits::value, exits::question_mark, exits::early_return, exits::panic, exits::abort, exits::select_loss,
            exits::runtime_shutdown, exits::guard_dropped_outside_of_a_runtime, exits::manager_shutdown,
            holding::max_hold, holding::max_hold_of_a_guard, holding::min_hold, holding::min_hold_on_every_way_out,
            holding::no_watchdog, holding::no_watchdog_after_a_hand_over,
            holding::extend, holding::extend_without_a_watchdog, holding::vain_extension,
            holding::early_release, holding::nested_release, holding::max_waiters, holding::no_waiters,
            holding::on_lost_continue, holding::runs_on_to_its_end, holding::release_in_background,
            holding::release_after_a_drop,
            nesting::outlives_its_outer, nesting::given_back_meanwhile, nesting::lost_under_a_body_that_runs_on,
            several::all_at_once, several::all_or_none, several::one_wait_budget, several::opposite_orders,
            several::cancelled_half_way, several::nested, several::nested_turns,
            loss::renewal_past_many_leases, loss::lost_lease, loss::owner_check, loss::guard_learns_of_the_loss,
        }
    };
    ($place:ty: $($room:ident :: $case:ident),* $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let id = concat!(module_path!(), "-", stringify!($case)).replace("::", "-");
                $crate::suite::$room::$case($crate::suite::Scene::<$place>::start(id)).await;
            }
        )*
    };
}
pub(crate) use conformance;

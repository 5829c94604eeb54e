//! Permits, readers and writers: who holds a key beside whom, who waits, and in which order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lockruntime::{LockError, LockGuard, LockManager, LockRequest, Sharing};
use tests::timing;
use tokio::task::{JoinHandle, JoinSet};

use super::{Log, Place, Scene};

type Outcome = Result<LockGuard, LockError>;

fn as_reader(request: LockRequest<'_>) -> LockRequest<'_> {
    request.read()
}

fn as_writer(request: LockRequest<'_>) -> LockRequest<'_> {
    request.write()
}

fn alone(request: LockRequest<'_>) -> LockRequest<'_> {
    request
}

fn by_permit(request: LockRequest<'_>) -> LockRequest<'_> {
    request.permits(2)
}

type How = fn(LockRequest<'_>) -> LockRequest<'_>;

impl<P: Place> Scene<P> {
    /// A call that waits for its turn, as the `rank`th.
    async fn waits(&self, manager: &LockManager, how: How, rank: usize) -> JoinHandle<Outcome> {
        let waiter = tokio::spawn({
            let (manager, key) = (manager.clone(), self.key.clone());
            async move { how(manager.lock(&key)).acquire().await }
        });
        self.until_waiting(manager, rank).await;
        waiter
    }

    async fn refused(&self, manager: &LockManager, how: How) {
        let refused = how(manager.lock(&self.key)).try_acquire().await;
        let error = refused.unwrap_err();
        assert!(matches!(error, LockError::Busy { .. }), "{error}");
    }

    async fn taken(&self, manager: &LockManager, how: How) -> LockGuard {
        how(manager.lock(&self.key)).try_acquire().await.unwrap()
    }
}

async fn entered(what: &str, waiter: JoinHandle<Outcome>) -> LockGuard {
    timing::soon(what, waiter).await.unwrap().unwrap()
}

/// Two managers, forty calls: never more than two bodies, and often two; each with a token of its own.
pub(crate) async fn permits<P: Place>(scene: Scene<P>) {
    let inside = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let tokens = Arc::new(Log::default());
    let mut tasks = JoinSet::new();
    for manager in [scene.place.manager(), scene.place.manager()] {
        for _ in 0..4 {
            let (manager, key) = (manager.clone(), scene.key.clone());
            let (inside, most, tokens) = (inside.clone(), most.clone(), tokens.clone());
            tasks.spawn(async move {
                for _ in 0..5 {
                    let body = async {
                        let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        let hold = lockruntime::current().unwrap();
                        tokens.note(hold.fencing_token().to_string());
                        timing::pass(timing::millis(2)).await;
                        inside.fetch_sub(1, Ordering::SeqCst);
                    };
                    manager.lock(&key).permits(2).run(body).await.unwrap();
                }
            });
        }
    }
    timing::soon("all are through", tasks.join_all()).await;
    assert_eq!(most.load(Ordering::SeqCst), 2);
    let mut tokens = tokens.all();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 40, "each grant has a token of its own");
    scene.end(0).await;
}

/// Whoever waits for a permit gets it in the order of arrival, and nobody slips in.
pub(crate) async fn permits_in_order<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let first = scene.taken(&manager, by_permit).await;
    let second = scene.taken(&other, by_permit).await;
    scene.refused(&manager, by_permit).await;
    let mut waiters = Vec::new();
    for rank in 1..=4 {
        let manager = if rank % 2 == 0 { &manager } else { &other };
        waiters.push(scene.waits(manager, by_permit, rank).await);
    }
    let mut holders = vec![first, second];
    let mut last = 0;
    for waiter in waiters {
        holders.remove(0).release().await.unwrap();
        let next = entered("the next one enters", waiter).await;
        assert!(next.fencing_token().get() > last, "in the order of arrival");
        last = next.fencing_token().get();
        scene.refused(&manager, by_permit).await;
        holders.push(next);
    }
    for holder in holders {
        holder.release().await.unwrap();
    }
    scene.end(0).await;
}

/// Readers share, whoever else is told no; a writer, and a lock of which nothing is said, excludes all.
pub(crate) async fn readers_and_writers<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    for writer in [as_writer as How, alone] {
        let mut readers = Vec::new();
        for manager in [&manager, &other, &manager] {
            readers.push(scene.taken(manager, as_reader).await);
        }
        scene.refused(&other, writer).await;
        let picture = manager.snapshot(&scene.key).await.unwrap();
        assert_eq!((picture.held.is_some(), picture.beside.len()), (true, 2));
        assert_eq!(picture.beside[0].sharing, Sharing::Read);
        assert!(picture.beside[1].left <= timing::lease());
        for reader in readers {
            assert!(reader.is_held());
            reader.release().await.unwrap();
        }
        let writer_of = scene.taken(&other, writer).await;
        for how in [as_reader as How, as_writer, alone] {
            scene.refused(&manager, how).await;
        }
        writer_of.release().await.unwrap();
    }
    scene.end(0).await;
}

/// A writer that waits isn't passed by readers that come later; readers that wait enter all at once, before the next writer.
pub(crate) async fn groups_in_order<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let reader = scene.taken(&manager, as_reader).await;
    let writer = scene.waits(&other, as_writer, 1).await;
    // it could share with the reader, but the writer was here first
    scene.refused(&manager, as_reader).await;
    let mut readers = Vec::new();
    for rank in 2..=4 {
        let manager = if rank % 2 == 0 { &manager } else { &other };
        readers.push(scene.waits(manager, as_reader, rank).await);
    }
    let last = scene.waits(&manager, alone, 5).await;
    reader.release().await.unwrap();
    let writer = entered("the writer enters", writer).await;
    scene.until_waiting(&manager, 4).await;
    writer.release().await.unwrap();
    let mut holders = Vec::new();
    for reader in readers {
        holders.push(entered("all readers enter", reader).await);
    }
    scene.until_waiting(&manager, 1).await;
    for holder in holders {
        assert!(holder.is_held());
        holder.release().await.unwrap();
    }
    let last = entered("the last writer enters", last).await;
    last.release().await.unwrap();
    scene.end(0).await;
}

/// A writer that gives up waiting was in the way of the readers behind it: they enter at once.
pub(crate) async fn a_writer_that_leaves<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    for writer in [as_writer as How, alone] {
        let reader = scene.taken(&manager, as_reader).await;
        let writer = scene.waits(&other, writer, 1).await;
        let next = scene.waits(&manager, as_reader, 2).await;
        writer.abort();
        let start = std::time::Instant::now();
        let next = entered("the reader behind it enters", next).await;
        assert!(start.elapsed() < timing::moment(), "{:?}", start.elapsed());
        reader.release().await.unwrap();
        next.release().await.unwrap();
    }
    scene.end(0).await;
}

/// The callers of one key must agree on the number of permits, and on whether there are readers: a named error, not silence.
pub(crate) async fn permits_differ<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let holder = scene.taken(&manager, by_permit).await;
    let differs = |outcome: Outcome, wanted: Sharing| {
        let error = outcome.unwrap_err();
        let LockError::PermitsDiffer { asked, present, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!((*asked, *present), (wanted, Sharing::Permits(2)), "{error}");
        assert!(!error.is_busy() && !error.is_retryable());
    };
    let request = || other.lock(&scene.key);
    differs(request().permits(3).acquire().await, Sharing::Permits(3));
    differs(
        request().permits(1).try_acquire().await,
        Sharing::Permits(1),
    );
    differs(request().read().acquire().await, Sharing::Read);
    scene.until_waiting(&manager, 0).await;
    // a caller that comes while somebody else has it alone learns of it when it would be its turn
    let writer = scene.waits(&manager, alone, 1).await;
    let agrees = scene.waits(&manager, by_permit, 2).await;
    holder.release().await.unwrap();
    let writer = entered("the writer enters", writer).await;
    let late = tokio::spawn({
        let (other, key) = (other.clone(), scene.key.clone());
        async move { other.lock(&key).permits(3).acquire().await }
    });
    scene.until_waiting(&manager, 2).await;
    writer.release().await.unwrap();
    let holder = entered("the one that agrees enters", agrees).await;
    let late = timing::soon("the other one is told", late).await;
    differs(late.unwrap(), Sharing::Permits(3));
    holder.release().await.unwrap();
    let none = request().permits(0).acquire().await.unwrap_err();
    assert!(matches!(none, LockError::InvalidPermits { .. }), "{none}");
    scene.end(0).await;
}

/// Each hold has its own lease, renewed for itself; whoever loses it is stopped, the others go on.
pub(crate) async fn leases_of_their_own<P: Place>(scene: Scene<P>) {
    let (manager, (fragile, link)) = (scene.place.manager(), scene.place.fragile());
    let lives = scene.taken(&manager, by_permit).await;
    let cut_off = scene.taken(&fragile, by_permit).await;
    scene.refused(&manager, by_permit).await;
    link.cut();
    timing::soon("the loss is noticed", cut_off.lost()).await;
    // its permit comes back when its lease is over, while the other one is renewed
    let next = timing::soon(
        "a permit comes back",
        manager.lock(&scene.key).permits(2).acquire(),
    );
    let next = next.await.unwrap();
    assert!(lives.is_held() && next.is_held() && !cut_off.is_held());
    link.heal();
    timing::pass(timing::lease() * 2).await;
    assert!(lives.is_held() && next.is_held());
    drop(cut_off);
    next.release().await.unwrap();
    lives.release().await.unwrap();
    scene.end(1).await;
}

/// A minimum hold of one permit is its own; so are caps and extensions.
pub(crate) async fn bounds_of_shared_holds<P: Place>(scene: Scene<P>) {
    let manager = scene.place.manager();
    let least = timing::millis(200);
    let start = std::time::Instant::now();
    let short = manager.lock(&scene.key).permits(2).min_hold(least);
    short.run(async {}).await.unwrap();
    let beside = scene.taken(&manager, by_permit).await;
    scene.refused(&manager, by_permit).await;
    beside.extend(timing::lease() * 2).await.unwrap();
    assert!(beside.remaining() > timing::lease());
    let next = manager.lock(&scene.key).permits(2).acquire().await.unwrap();
    assert!(start.elapsed() >= least, "{:?}", start.elapsed());
    next.release().await.unwrap();
    beside.release().await.unwrap();
    let most = manager.lock(&scene.key).read().max_hold(timing::millis(50));
    let ended = most.run(std::future::pending::<()>()).await.unwrap_err();
    assert!(matches!(ended, LockError::HoldCapReached { .. }), "{ended}");
    scene.end(0).await;
}

/// A reader goes on under a writer of its chain; a writer under a reader would wait for itself.
pub(crate) async fn nested_access<P: Place>(scene: Scene<P>) {
    let manager = scene.place.manager();
    let request = || manager.lock(&scene.key);
    let token = || lockruntime::current().unwrap().fencing_token();
    let nested = async {
        let outer = token();
        let inner = request().read().run(async { token() }).await;
        assert_eq!(inner.unwrap(), outer, "no request, the same grant");
        request().write().run(async {}).await.unwrap();
        // what reads inside of a writer reads
        let up = async { request().write().run(async {}).await };
        request().read().run(up).await.unwrap().unwrap_err()
    };
    let error = request().write().run(nested).await.unwrap();
    assert!(matches!(error, LockError::SelfDeadlock { .. }), "{error}");

    let nested = async {
        request().read().run(async {}).await.unwrap();
        // they share the turn as they would share the lock
        let both = tokio::sync::Barrier::new(2);
        let reads = || request().read().run(both.wait());
        let (one, two) = tokio::join!(reads(), reads());
        assert!(one.is_ok() && two.is_ok());
        (
            request().write().run(async {}).await.unwrap_err(),
            request().run(async {}).await.unwrap_err(),
        )
    };
    let (write, plain) = request().read().run(nested).await.unwrap();
    for error in [write, plain] {
        let LockError::SelfDeadlock { held, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(*held, Sharing::Read);
        assert!(error.to_string().contains("access = \"write\""), "{error}");
    }

    let nested = async {
        request().permits(2).run(async {}).await.unwrap();
        request().permits(3).run(async {}).await.unwrap_err()
    };
    let error = request().permits(2).run(nested).await.unwrap();
    assert!(matches!(error, LockError::PermitsDiffer { .. }), "{error}");
    scene.end(0).await;
}

/// Several keys at once, as readers; limits of waits and queues.
pub(crate) async fn shared_limits<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let second = format!("{}:2", scene.key);
    let both = || [scene.key.as_str(), second.as_str()];
    let one = manager.lock_all(both()).read().acquire().await.unwrap();
    let two = other.lock_all(both()).read().acquire().await.unwrap();
    let waits = other.lock(&second).write().wait(timing::millis(50));
    let error = waits.acquire().await.unwrap_err();
    assert!(matches!(error, LockError::WaitTimedOut { .. }), "{error}");
    let skips = other.lock(&second).write().acquire_or_skip().await;
    assert!(skips.unwrap().is_none());
    let waiter = scene.waits(&other, as_writer, 1).await;
    let full = manager
        .lock(&scene.key)
        .read()
        .max_waiters(1)
        .acquire()
        .await;
    let full = full.unwrap_err();
    assert!(
        matches!(
            full,
            LockError::Busy {
                waiting: Some(1),
                ..
            }
        ),
        "{full}"
    );
    one.release().await.unwrap();
    two.release().await.unwrap();
    entered("the writer enters", waiter)
        .await
        .release()
        .await
        .unwrap();
    timing::pass(Duration::from_millis(1)).await;
    scene.end(0).await;
}

//! Every way out of a body gives the lock back at once: the leases here are long, so none of them is waited for.

use std::future::pending;
use std::sync::Arc;

use lockruntime::{LockError, distributed_lock};
use tests::timing;
use tokio::sync::Notify;

use super::{Place, Scene};

#[derive(Debug)]
enum PayError {
    Lock(LockError),
    Declined,
}

impl From<LockError> for PayError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

#[derive(Clone, Copy)]
enum Way {
    Value,
    QuestionMark,
    Return,
    Panic,
    Never,
}

#[distributed_lock(key = "boleto:<id>", lease = "30s", mode = "queue")]
async fn pay(id: &str, way: Way, inside: Arc<Notify>) -> Result<u64, PayError> {
    inside.notify_one();
    let token = lockruntime::current()
        .expect("the body has a hold")
        .fencing_token()
        .get();
    match way {
        Way::Value => {}
        Way::QuestionMark => declined()?,
        Way::Return => return Ok(token),
        Way::Panic => panic!("this panic belongs to the test of {id}"),
        Way::Never => pending().await,
    }
    Ok(token)
}

fn declined() -> Result<(), PayError> {
    Err(PayError::Declined)
}

async fn leaves<P: Place>(
    scene: &Scene<P>,
    way: Way,
) -> Result<Result<u64, PayError>, tokio::task::JoinError> {
    let (id, manager) = (scene.id.clone(), scene.place.manager());
    let scope = manager.clone();
    let result =
        tokio::spawn(async move { scope.scope(pay(&id, way, Arc::default())).await }).await;
    // a normal exit has waited for the confirmation; a panic hands the release over
    if result.is_ok() {
        scene
            .place
            .manager()
            .lock(&scene.key)
            .try_acquire()
            .await
            .unwrap()
            .release()
            .await
            .unwrap();
    }
    scene.assert_free(&scene.place.manager()).await;
    result
}

pub(crate) async fn value<P: Place>(scene: Scene<P>) {
    assert!(leaves(&scene, Way::Value).await.unwrap().unwrap() > 0);
    scene.end(0).await;
}

pub(crate) async fn question_mark<P: Place>(scene: Scene<P>) {
    let error = leaves(&scene, Way::QuestionMark)
        .await
        .unwrap()
        .unwrap_err();
    assert!(matches!(error, PayError::Declined), "{error:?}");
    scene.end(0).await;
}

pub(crate) async fn early_return<P: Place>(scene: Scene<P>) {
    assert!(leaves(&scene, Way::Return).await.unwrap().unwrap() > 0);
    scene.end(0).await;
}

pub(crate) async fn panic<P: Place>(scene: Scene<P>) {
    let panic = leaves(&scene, Way::Panic).await.unwrap_err().into_panic();
    assert_eq!(
        panic.downcast_ref::<String>().unwrap(),
        &format!("this panic belongs to the test of {}", scene.id)
    );
    scene.end(0).await;
}

/// The task is aborted while its body runs.
pub(crate) async fn abort<P: Place>(scene: Scene<P>) {
    let (manager, inside) = (scene.place.manager(), Arc::new(Notify::new()));
    let task = tokio::spawn({
        let (id, inside) = (scene.id.clone(), Arc::clone(&inside));
        async move { manager.scope(pay(&id, Way::Never, inside)).await }
    });
    timing::soon("the body begins", inside.notified()).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    scene.assert_free(&scene.place.manager()).await;
    scene.end(0).await;
}

/// The call loses a race in `select!`.
pub(crate) async fn select_loss<P: Place>(scene: Scene<P>) {
    let (manager, inside) = (scene.place.manager(), Arc::new(Notify::new()));
    tokio::select! {
        _ = manager.scope(pay(&scene.id, Way::Never, Arc::clone(&inside))) => unreachable!("the body never ends"),
        () = timing::soon("the body begins", inside.notified()) => {}
    }
    scene.assert_free(&scene.place.manager()).await;
    scene.end(0).await;
}

/// The caller's runtime goes away under the body; the keeper's stays.
pub(crate) async fn runtime_shutdown<P: Place>(scene: Scene<P>) {
    let (manager, inside) = (scene.place.manager(), Arc::new(Notify::new()));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    drop(runtime.spawn({
        let (id, inside, manager) = (scene.id.clone(), Arc::clone(&inside), manager.clone());
        async move { manager.scope(pay(&id, Way::Never, inside)).await }
    }));
    timing::soon("the body begins", inside.notified()).await;
    runtime.shutdown_background();
    scene.assert_free(&scene.place.manager()).await;
    drop(manager);
    scene.end(0).await;
}

/// A guard may be dropped where there is no runtime at all.
pub(crate) async fn guard_dropped_outside_of_a_runtime<P: Place>(scene: Scene<P>) {
    let guard = scene
        .place
        .manager()
        .lock(&scene.key)
        .lease(timing::long_lease())
        .acquire()
        .await
        .unwrap();
    std::thread::spawn(move || drop(guard)).join().unwrap();
    scene.assert_free(&scene.place.manager()).await;
    scene.end(0).await;
}

/// A manager that shuts down stops bodies, refuses calls, and leaves nothing behind.
pub(crate) async fn manager_shutdown<P: Place>(scene: Scene<P>) {
    let (manager, inside) = (scene.place.manager(), Arc::new(Notify::new()));
    let task = tokio::spawn({
        let (id, inside, manager) = (scene.id.clone(), Arc::clone(&inside), manager.clone());
        async move { manager.scope(pay(&id, Way::Never, inside)).await }
    });
    timing::soon("the body begins", inside.notified()).await;
    let waiting = tokio::spawn({
        let (key, manager) = (scene.key.clone(), manager.clone());
        async move { manager.lock(&key).acquire().await }
    });
    scene.until_waiting(&manager, 1).await;
    timing::soon("the shutdown ends", manager.shutdown(timing::millis(300))).await;
    let PayError::Lock(error) = task.await.unwrap().unwrap_err() else {
        panic!("the body was not stopped")
    };
    assert!(error.is_lost(), "{error}");
    assert!(matches!(
        waiting.await.unwrap().unwrap_err(),
        LockError::ShuttingDown { .. }
    ));
    let refused = manager.lock(&scene.key).try_acquire().await.unwrap_err();
    assert!(
        matches!(refused, LockError::ShuttingDown { .. }),
        "{refused}"
    );
    scene.assert_free(&scene.place.manager()).await;
    scene.end(1).await;
}

//! Several keys by one call.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use lockruntime::{LockError, LockManager};
use tests::timing;
use tokio::task::JoinSet;

use super::{Place, Scene};

/// Keys of this scene: `boleto:<id>` and others that its end looks at, too.
fn keys<P>(scene: &Scene<P>, names: [&str; 3]) -> [String; 3] {
    names.map(|name| format!("{}:{name}", scene.key))
}

async fn assert_free(manager: &LockManager, key: &str) {
    let snapshot = manager.snapshot(key).await.unwrap();
    assert!(snapshot.held.is_none(), "{key}: {snapshot:?}");
    assert!(snapshot.waiting.is_empty(), "{key}: {snapshot:?}");
}

/// Each key has its record and its token; a hold speaks for all, and for each in the order in which they were given.
pub(crate) async fn all_at_once<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    // not in their order, and one of them twice
    let [c, a, b] = &keys(&scene, ["c", "a", "b"]);
    let given = [c, a, b, a].map(String::as_str);
    let guard = manager.lock_all(given).acquire().await.unwrap();
    let named: Vec<_> = guard.each().map(|hold| hold.key().to_string()).collect();
    assert_eq!(named, [c, a, b].map(String::as_str));
    let tokens: HashSet<_> = guard.each().map(|hold| hold.fencing_token()).collect();
    assert_eq!(tokens.len(), 3, "{tokens:?}");
    assert_eq!(guard.key().as_str(), c);
    assert!(guard.is_held() && guard.remaining() <= timing::lease());
    let hold = guard.hold();
    for key in [a, b, c] {
        let held = other.snapshot(key).await.unwrap().held.unwrap();
        let part = hold.of(key).unwrap();
        assert_eq!(
            (held.owner, held.token),
            (part.owner_token(), part.fencing_token())
        );
        assert!(part.is_held());
        let busy = other.lock(key).try_acquire().await.unwrap_err();
        assert!(busy.is_busy() && busy.key() == key, "{busy}");
    }
    assert!(hold.of("boleto").is_none());
    // as long as one of them
    guard.extend(timing::lease() * 5).await.unwrap();
    assert!(guard.remaining() > timing::lease() * 4);
    guard.release().await.unwrap();
    for key in [a, b, c] {
        assert_free(&other, key).await;
    }
    let again = manager.lock_all(given).try_acquire().await.unwrap();
    for (before, after) in hold.each().zip(again.each()) {
        assert!(after.fencing_token() > before.fencing_token());
    }
    drop(again);
    scene.end(0).await;
}

/// The second is taken: the call is refused and nothing of it is held when it returns, not even for a minimum.
pub(crate) async fn all_or_none<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let [a, b, c] = &keys(&scene, ["a", "b", "c"]);
    let taken = other.lock(b).acquire().await.unwrap();
    let request = || {
        manager
            .lock_all([a, b, c].map(String::as_str))
            .min_hold(timing::lease())
    };
    let start = Instant::now();
    let error = request().try_acquire().await.unwrap_err();
    assert!(
        matches!(error, LockError::Busy { .. }) && error.key() == b,
        "{error:?}"
    );
    assert!(start.elapsed() < timing::moment());
    for key in [a, c] {
        assert_free(&other, key).await;
    }
    let ran = AtomicU64::new(0);
    let body = async { ran.fetch_add(1, Ordering::SeqCst) };
    let error = request().wait(timing::moment()).run(body).await;
    let error = error.unwrap_err();
    assert!(matches!(error, LockError::WaitTimedOut { .. }), "{error:?}");
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    for key in [a, c] {
        assert_free(&other, key).await;
    }
    taken.release().await.unwrap();
    let empty = manager.lock_all([]).acquire().await.unwrap_err();
    assert!(matches!(empty, LockError::InvalidKey { .. }), "{empty:?}");
    scene.end(0).await;
}

/// What was waited for the first key is not there for the second.
pub(crate) async fn one_wait_budget<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let [a, b, _] = &keys(&scene, ["a", "b", "c"]);
    let (first, second) = (
        other.lock(a).acquire().await.unwrap(),
        other.lock(b).acquire().await.unwrap(),
    );
    let wait = timing::millis(600);
    let start = Instant::now();
    let call = tokio::spawn({
        let (manager, keys) = (manager.clone(), [b.clone(), a.clone()]);
        async move {
            let call = manager.lock_all(keys.iter().map(String::as_str));
            call.wait(wait).acquire().await.map(drop).unwrap_err()
        }
    });
    timing::pass(wait * 2 / 3).await;
    first.release().await.unwrap();
    let error = timing::soon("the wait ends", call).await.unwrap();
    let took = start.elapsed();
    assert!(took >= wait && took < wait + timing::moment(), "{took:?}");
    let LockError::WaitTimedOut { waited, .. } = error else {
        panic!("{error:?}")
    };
    assert!(waited >= wait, "{waited:?} is that of one key");
    assert_eq!(error.key(), b);
    assert_free(&other, a).await;
    second.release().await.unwrap();
    scene.end(0).await;
}

/// Callers of two processes that name their keys in opposite orders all get through, one at a time per key.
pub(crate) async fn opposite_orders<P: Place>(scene: Scene<P>) {
    let [a, b, c] = keys(&scene, ["a", "b", "c"]);
    let orders = [
        [a.clone(), b.clone()],
        [b.clone(), a],
        [c.clone(), b.clone()],
        [b, c],
    ];
    let inside: Arc<[AtomicU64; 3]> = Arc::default();
    let mut tasks = JoinSet::new();
    let managers = [scene.place.manager(), scene.place.manager()];
    for task in 0..8 {
        let (manager, keys) = (managers[task % 2].clone(), orders[task / 2].clone());
        let inside = Arc::clone(&inside);
        tasks.spawn(async move {
            for _ in 0..25 {
                let body = async {
                    let hold = lockruntime::current().unwrap();
                    let places: Vec<_> = hold
                        .each()
                        .map(|hold| {
                            "abc".find(&hold.key().as_str()[hold.key().as_str().len() - 1..])
                        })
                        .collect();
                    for place in places.iter().flatten() {
                        let before = inside[*place].fetch_add(1, Ordering::SeqCst);
                        assert_eq!(before, 0, "another body runs under {place}");
                    }
                    assert_eq!(places.len(), 2);
                    timing::pass(timing::micros(300)).await;
                    for place in places.iter().flatten() {
                        inside[*place].fetch_sub(1, Ordering::SeqCst);
                    }
                };
                let call = manager.lock_all(keys.iter().map(String::as_str));
                call.run(body).await.unwrap();
            }
        });
    }
    timing::soon("all are through", tasks.join_all()).await;
    scene.end(0).await;
}

/// A call that is dropped while it waits for its second key gives the first one back.
pub(crate) async fn cancelled_half_way<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let [a, b, _] = &keys(&scene, ["a", "b", "c"]);
    let taken = other.lock(b).acquire().await.unwrap();
    let call = tokio::spawn({
        let (manager, keys) = (manager.clone(), [a.clone(), b.clone()]);
        async move {
            let call = manager
                .lock_all(keys.iter().map(String::as_str))
                .lease(timing::long_lease());
            call.acquire().await.map(drop)
        }
    });
    let waits = async {
        while other.snapshot(b).await.unwrap().waiting.is_empty() {
            timing::pass(timing::tick()).await;
        }
    };
    timing::soon("it waits for the second", waits).await;
    assert!(other.lock(a).try_acquire().await.unwrap_err().is_busy());
    call.abort();
    let first = timing::soon("the first is given back", other.lock(a).acquire());
    first.await.unwrap().release().await.unwrap();
    // several masters hear of the two at different times
    let left = async {
        while !other.snapshot(b).await.unwrap().waiting.is_empty() {
            timing::pass(timing::tick()).await;
        }
    };
    timing::soon("it waits no longer for the second", left).await;
    taken.release().await.unwrap();
    scene.end(0).await;
}

/// A nested call goes on under the keys that its chain has and takes the others; those it gives back, and no more.
pub(crate) async fn nested<P: Place>(scene: Scene<P>) {
    let (manager, other) = (scene.place.manager(), scene.place.manager());
    let [a, b, c] = &keys(&scene, ["a", "b", "c"]);
    let outer = async {
        let hold = lockruntime::current().unwrap();
        let [of_b, of_c] = [b, c].map(|key| hold.of(key).unwrap().fencing_token());
        let all = [c, b, a].map(String::as_str);
        let inner = async {
            let hold = lockruntime::current().unwrap();
            let tokens: Vec<_> = hold.each().map(|hold| hold.fencing_token()).collect();
            assert_eq!(tokens[..2], [of_c, of_b]);
            assert!(other.lock(a).try_acquire().await.unwrap_err().is_busy());
            // one of several, and all of them once more
            manager.lock(b).run(async {}).await.unwrap();
            manager.lock_all(all).run(async {}).await.unwrap();
            hold.release().await.unwrap();
            // its own is given back, the outer one's are not
            assert!(hold.of(b).unwrap().is_held() && !hold.of(a).unwrap().is_held());
        };
        manager.lock_all(all).run(inner).await.unwrap();
        assert!(hold.is_held());
        assert_free(&other, a).await;
        for key in [b, c] {
            assert!(other.lock(key).try_acquire().await.unwrap_err().is_busy());
        }
        // what can't go on under a lock says so, and holds nothing
        let guard = manager.lock_all(all).acquire().await.unwrap_err();
        let strict = manager.lock_all(all).reentrant(false).run(async {}).await;
        for error in [guard, strict.unwrap_err()] {
            assert!(matches!(error, LockError::SelfDeadlock { .. }), "{error:?}");
        }
        let refused = manager.lock_all(all).try_acquire().await.unwrap_err();
        assert!(refused.is_busy(), "{refused:?}");
        timing::soon("the first of them is given back", other.lock(a).acquire())
            .await
            .unwrap()
    };
    let keys = [b, c].map(String::as_str);
    let guard = manager.lock_all(keys).run(outer).await.unwrap();
    guard.release().await.unwrap();
    for key in [a, b, c] {
        assert_free(&other, key).await;
    }
    scene.end(0).await;
}

/// Calls beside each other under one hold take turns, key by key.
pub(crate) async fn nested_turns<P: Place>(scene: Scene<P>) {
    let manager = scene.place.manager();
    let [a, b, _] = &keys(&scene, ["a", "b", "c"]);
    let inside = AtomicU64::new(0);
    let nested = |keys: Vec<&'static str>| {
        let (manager, inside, scene) = (&manager, &inside, &scene);
        async move {
            let keys: Vec<_> = keys
                .iter()
                .map(|name| format!("{}:{name}", scene.key))
                .collect();
            for _ in 0..5 {
                let body = async {
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two bodies");
                    timing::pass(timing::micros(300)).await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                };
                let call = manager.lock_all(keys.iter().map(String::as_str));
                call.run(body).await.unwrap();
            }
        }
    };
    let body = async {
        tokio::join!(
            nested(vec!["a", "b"]),
            nested(vec!["b", "a"]),
            nested(vec!["b"])
        )
    };
    let call = manager.lock_all([a, b].map(String::as_str));
    timing::soon("all are through", call.run(body))
        .await
        .unwrap();
    scene.end(0).await;
}

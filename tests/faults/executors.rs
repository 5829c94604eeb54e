//! Locks don't care what polls them: the keeper has a thread of its own, and the caller's future needs no timer, no I/O and no
//! runtime at all.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics has failed, as it should"
)]

use std::future::Future;
use std::sync::{Arc, Barrier};
use std::thread;

use futures_executor::{LocalPool, ThreadPool, block_on};
use futures_util::future::join;
use lockruntime::{LockError, LockGuard, LockManager, distributed_lock};
use tests::{RedisServer, tidy, timing, wire};
use tokio::runtime::{Builder, Runtime};

/// Asserts by its key that it is inside alone, and lets others run meanwhile.
#[distributed_lock(key = "boleto:<id>", lease = "30s")]
async fn body(id: &str) -> Result<u64, LockError> {
    for _ in 0..3 {
        yields().await;
    }
    Ok(lockruntime::current().map_or(0, |hold| hold.fencing_token().get()))
}

/// Ready at the second poll; works on every executor.
async fn yields() {
    let mut polled = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut polled, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// Everything that a caller does: an annotated call, one that has to queue, a guard that is released and one that is dropped, a
/// loss that is awaited, a refusal.
async fn everything(locks: LockManager, id: &'static str) {
    let key = format!("boleto:{id}");
    let first = locks.scope(body(id)).await.unwrap();
    let guard = locks.lock(&key).acquire().await.unwrap();
    assert!(guard.fencing_token().get() > first);
    let refused = locks.lock(&key).try_acquire().await.unwrap_err();
    assert!(refused.is_busy(), "{refused}");
    let late = locks.lock(&key).wait(timing::millis(30)).acquire().await;
    assert!(late.unwrap_err().is_busy());
    // queues behind the guard, which is dropped meanwhile
    let turn = locks.scope(body(id));
    let (token, ()) = join(turn, async {
        yields().await;
        drop(guard);
    })
    .await;
    assert!(token.unwrap() > first);
    let guard = locks.lock(&key).acquire().await.unwrap();
    guard.release().await.unwrap();
    locks.lock(&key).run(yields()).await.unwrap();
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A manager whose locks outlive their tests: what goes was given back.
fn manager(server: &RedisServer) -> LockManager {
    server
        .manager_builder()
        .lease(timing::long_lease())
        .build()
        .unwrap()
}

/// The end of a test without a runtime of its own.
fn end(server: &RedisServer, id: &str) {
    current_thread().block_on(tidy::end(
        server,
        &format!("boleto:{id}"),
        timing::lease(),
        0,
    ));
}

/// Nothing is left of a lock, long before its lease is over.
fn given_back(server: &RedisServer) {
    let raw = server.raw();
    timing::block_until("the lock is given back", timing::patience(), || {
        tidy::left_behind(&raw).is_empty()
    });
}

#[test]
fn a_current_thread_runtime() {
    let server = RedisServer::start();
    current_thread().block_on(everything(manager(&server), "current-thread"));
    end(&server, "current-thread");
}

#[test]
fn a_multi_thread_runtime() {
    let server = RedisServer::start();
    let runtime = Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    let locks = manager(&server);
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let locks = locks.clone();
            runtime.spawn(async move { locks.scope(body("multi-thread")).await.unwrap() })
        })
        .collect();
    let mut tokens: Vec<_> = tasks
        .into_iter()
        .map(|task| runtime.block_on(task).unwrap())
        .collect();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 20);
    runtime.block_on(everything(locks, "multi-thread"));
    end(&server, "multi-thread");
}

/// Neither timers nor I/O: a runtime that was built with nothing enabled.
#[test]
fn a_runtime_without_time_and_io() {
    let server = RedisServer::start();
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(everything(manager(&server), "no-driver"));
    drop(runtime);
    end(&server, "no-driver");
}

/// No tokio at all.
#[test]
fn an_executor_that_is_not_tokio() {
    let server = RedisServer::start();
    let locks = manager(&server);
    block_on(everything(locks.clone(), "not-tokio"));
    // many tasks on one thread, and on several
    let mut pool = LocalPool::new();
    pool.run_until(everything(locks.clone(), "not-tokio"));
    let pool = ThreadPool::builder().pool_size(3).create().unwrap();
    let (sender, done) = std::sync::mpsc::channel();
    for _ in 0..12 {
        let (locks, sender) = (locks.clone(), sender.clone());
        pool.spawn_ok(async move {
            sender
                .send(locks.scope(body("not-tokio")).await.unwrap())
                .unwrap();
        });
    }
    drop(sender);
    assert_eq!(done.into_iter().count(), 12);
    end(&server, "not-tokio");
}

/// One manager, several runtimes of all kinds at once, each on a thread of its own.
#[test]
fn several_runtimes_in_one_process() {
    let server = RedisServer::start();
    let locks = manager(&server);
    let start = Arc::new(Barrier::new(6));
    let threads: Vec<_> = (0..6)
        .map(|number| {
            let (locks, start) = (locks.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                let calls = async {
                    let mut tokens = Vec::new();
                    for _ in 0..10 {
                        tokens.push(locks.scope(body("several")).await.unwrap());
                    }
                    tokens
                };
                match number % 3 {
                    0 => current_thread().block_on(calls),
                    1 => Builder::new_multi_thread().build().unwrap().block_on(calls),
                    _ => block_on(calls),
                }
            })
        })
        .collect();
    let mut tokens: Vec<_> = threads
        .into_iter()
        .flat_map(|thread| thread.join().unwrap())
        .collect();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 60);
    end(&server, "several");
}

/// A runtime ends under a holder and a waiter: both are given back, and the manager goes on under the next runtime.
#[test]
fn a_runtime_that_ends() {
    let server = RedisServer::start();
    let locks = manager(&server);
    let raw = server.raw();
    let key = "boleto:ends";
    for _ in 0..3 {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (begun, begins) = std::sync::mpsc::channel();
        for locks in [locks.clone(), locks.clone()] {
            let begun = begun.clone();
            runtime.spawn(async move {
                let body = async {
                    begun.send(()).unwrap();
                    std::future::pending::<()>().await;
                };
                locks.lock(key).run(body).await
            });
        }
        begins.recv_timeout(timing::patience()).unwrap();
        timing::block_until("the other one queues", timing::patience(), || {
            raw.run::<u64>(&["ZCARD", &wire::queue(key)]) == 1
        });
        drop(runtime);
        given_back(&server);
        // a runtime that is shut down without waiting
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        let guard = runtime.block_on(locks.lock(key).acquire()).unwrap();
        runtime.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        runtime.shutdown_background();
        given_back(&server);
    }
    current_thread().block_on(everything(locks, "ends"));
    end(&server, "ends");
}

/// Blocking code under a lock, in the middle of a runtime and beside it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spawn_blocking() {
    let server = RedisServer::start();
    let locks = server
        .manager_builder()
        .lease(timing::short_lease())
        .build()
        .unwrap();
    let handle = tokio::runtime::Handle::current();
    let inside = {
        let locks = locks.clone();
        tokio::task::spawn_blocking(move || {
            // the runtime's own handle, and none
            let guard = handle
                .block_on(locks.lock("boleto:blocking").acquire())
                .unwrap();
            // longer than the lease: the keeper renews beside a thread that blocks
            timing::block(timing::short_lease() * 2);
            assert!(guard.hold().is_held());
            let token = guard.fencing_token();
            drop(guard);
            let next = block_on(locks.lock("boleto:blocking").acquire()).unwrap();
            assert!(next.fencing_token() > token);
            next
        })
    };
    let guard: LockGuard = timing::soon("it ends", inside).await.unwrap();
    let moved = tokio::task::spawn_blocking(move || drop(guard));
    moved.await.unwrap();
    everything(locks, "blocking").await;
    tidy::end(&server, "boleto:blocking", timing::lease(), 0).await;
}

/// A guard is dropped on a thread that has never seen a runtime, also as the last thing that is left of its manager.
#[test]
fn a_thread_without_runtime() {
    let server = RedisServer::start();
    let locks = manager(&server);
    let key = "boleto:no-runtime";
    let guard = current_thread()
        .block_on(locks.lock(key).acquire())
        .unwrap();
    thread::spawn(move || drop(guard)).join().unwrap();
    given_back(&server);
    let guard = block_on(locks.lock(key).acquire()).unwrap();
    drop(locks);
    thread::spawn(move || drop(guard)).join().unwrap();
    given_back(&server);
    // a call that is given up before its first answer, where nobody can poll it again
    let locks = manager(&server);
    let mut call = Box::pin(locks.lock(key).acquire());
    let waker = std::task::Waker::noop();
    let begun = call
        .as_mut()
        .poll(&mut std::task::Context::from_waker(waker));
    assert!(begun.is_pending());
    drop(call);
    given_back(&server);
    end(&server, "no-runtime");
}

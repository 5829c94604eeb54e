//! Temporaries, locals and every argument are dropped as in the plain function, and all of them before the release.

use std::cell::RefCell;
use std::future::{Future, pending};
use std::rc::Rc;

use lockruntime::{Hold, LockError, distributed_lock};
use tokio::sync::oneshot;

use crate::support::{alone, is_busy};

thread_local! {
    static DROPPED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static HOLD: RefCell<Option<Hold>> = const { RefCell::new(None) };
}

/// Says when it is dropped, and panics when the lock is no longer held then.
struct Noisy(&'static str);

impl Noisy {
    fn look(&self) -> usize {
        self.0.len()
    }

    /// A temporary of the caller's expression.
    fn temporary(&self) -> Noisy {
        Noisy("temporary")
    }
}

impl Drop for Noisy {
    fn drop(&mut self) {
        DROPPED.with_borrow_mut(|dropped| dropped.push(self.0));
        let released = HOLD.with_borrow(|hold| hold.as_ref().is_some_and(|hold| !hold.is_held()));
        assert!(
            !released || std::thread::panicking(),
            "{} outlived the lock",
            self.0
        );
    }
}

/// For the body's first line: from here on drops look at the lock.
fn entered() {
    HOLD.set(lockruntime::current());
}

struct Pair {
    left: Noisy,
    right: Noisy,
}

fn pair(left: &'static str, right: &'static str) -> Pair {
    Pair {
        left: Noisy(left),
        right: Noisy(right),
    }
}

type Answer = Result<usize, LockError>;

/// Every function twice, without and with the attribute.
macro_rules! functions {
    ($($(#[$docs:meta])* async fn $name:ident($($arguments:tt)*) $body:block)*) => {
        mod plain {
            use super::*;
            $(pub(super) async fn $name($($arguments)*) -> Answer $body)*
        }
        mod locked {
            use super::*;
            $(#[distributed_lock(key = "a", mode = "reject")]
            pub(super) async fn $name($($arguments)*) -> Answer $body)*
        }
    };
}

functions! {
    async fn used(a: Noisy, b: Noisy) {
        entered();
        let local = Noisy("local");
        let sum = a.look() + b.look() + local.look();
        Ok(sum + Noisy("temporary").look())
    }

    async fn unused(_a: Noisy, _b: Noisy, _: Noisy) {
        entered();
        let _local = Noisy("local");
        Ok(Noisy("temporary").look())
    }

    async fn patterns(Pair { left, .. }: Pair, (_, second): (Noisy, Noisy), [first, ..]: [Noisy; 3]) {
        entered();
        Ok(left.temporary().look() + second.look() + first.look())
    }

    async fn borrowing(Pair { ref left, right }: Pair, whole @ Noisy(_): Noisy) {
        entered();
        Ok(left.temporary().look() + right.look() + whole.look())
    }

    /// The pattern copies a field out of a value that has a `Drop` of its own.
    async fn copied(Noisy(name): Noisy, b: Noisy) {
        entered();
        Ok(name.len() + b.look())
    }

    async fn taken_apart(p: Pair, q: Pair) {
        entered();
        drop(p.left);
        let _moved = q.right;
        Ok(Noisy("temporary").look())
    }

    async fn early(a: Noisy, b: Noisy) {
        entered();
        if a.look() == 1 {
            return Ok(b.temporary().look());
        }
        Ok(0)
    }

    async fn failed(a: Noisy, _b: Noisy) {
        entered();
        let local = Noisy("local");
        let number: usize = a.temporary().0.parse().unwrap_or(7);
        drop(local);
        Ok(number)
    }

    /// A borrow in the last expression: it must end before what it borrows from.
    async fn borrowed_to_the_end(cell: Rc<RefCell<Noisy>>) {
        entered();
        Ok(cell.borrow().look())
    }

    async fn rebound(mut a: Noisy, b: Noisy) {
        entered();
        a.look();
        a = b.temporary();
        let b = (a.look(), b);
        Ok(b.0)
    }
}

impl Pair {
    #[distributed_lock(key = "a")]
    async fn unused(self, _b: Noisy) -> Answer {
        entered();
        Ok(Noisy("temporary").look())
    }

    #[distributed_lock(key = "a")]
    async fn half_used(self, b: Noisy) -> Answer {
        entered();
        drop(self.left);
        Ok(b.look())
    }
}

/// What was dropped while the future ran, in order; and whether its body held the lock.
fn dropped_by<T>(future: impl Future<Output = T>) -> (T, Vec<&'static str>, bool) {
    let result = alone(|_| future);
    (result, DROPPED.take(), HOLD.take().is_some())
}

macro_rules! same_order {
    ($name:ident($($argument:expr),*)) => {
        #[test]
        fn $name() {
            let (expected, order, _) = dropped_by(async { plain::$name($($argument),*).await });
            let (value, locked_order, held) = dropped_by(async { locked::$name($($argument),*).await });
            assert!(held && !order.is_empty());
            assert_eq!(value.unwrap(), expected.unwrap());
            assert_eq!(locked_order, order);
        }
    };
}

same_order!(used(Noisy("a"), Noisy("b")));
same_order!(unused(Noisy("a"), Noisy("b"), Noisy("c")));
same_order!(patterns(
    pair("l", "r"),
    (Noisy("x"), Noisy("y")),
    [Noisy("1"), Noisy("2"), Noisy("3")]
));
same_order!(borrowing(pair("l", "r"), Noisy("whole")));
same_order!(copied(Noisy("a"), Noisy("b")));
same_order!(taken_apart(pair("pl", "pr"), pair("ql", "qr")));
same_order!(early(Noisy("a"), Noisy("b")));
same_order!(failed(Noisy("a"), Noisy("b")));
same_order!(borrowed_to_the_end(Rc::new(RefCell::new(Noisy("a")))));
same_order!(rebound(Noisy("a"), Noisy("b")));

#[test]
fn receivers_are_dropped_before_the_release() {
    let (value, order, held) = dropped_by(async { pair("l", "r").unused(Noisy("b")).await });
    assert_eq!(value.unwrap(), "temporary".len());
    assert!(held);
    assert_eq!(order, ["temporary", "b", "l", "r"]);
    let (_, order, held) = dropped_by(async { pair("l", "r").half_used(Noisy("b")).await });
    assert!(held);
    assert_eq!(order, ["l", "b", "r"]);
}

#[test]
fn the_release_comes_after_the_last_drop() {
    alone(|locks| async move {
        let (entered, inside) = oneshot::channel();
        let (go, gone) = oneshot::channel();
        let rival = async {
            inside.await.unwrap();
            assert!(is_busy(&locks, "held").await);
            go.send(()).unwrap();
        };
        let (value, ()) = tokio::join!(held(Noisy("a"), entered, gone), rival);
        value.unwrap();
        assert!(HOLD.take().is_some());
        assert_eq!(DROPPED.take(), ["a"]);
        assert!(!is_busy(&locks, "held").await);
    });
}

#[distributed_lock(key = "held")]
async fn held(
    _a: Noisy,
    inside: oneshot::Sender<()>,
    gone: oneshot::Receiver<()>,
) -> Result<(), LockError> {
    self::entered();
    inside.send(()).unwrap();
    gone.await.unwrap();
    Ok(())
}

#[distributed_lock(key = "endless")]
async fn endless(
    _a: Noisy,
    inside: oneshot::Sender<()>,
    _: Noisy,
    b: Noisy,
) -> Result<(), LockError> {
    entered();
    let _local = Noisy("local");
    b.look();
    inside.send(()).unwrap();
    pending().await
}

#[test]
fn a_cancelled_body_is_dropped_before_the_release() {
    alone(|locks| async move {
        let (entered, inside) = oneshot::channel();
        tokio::select! {
            _ = endless(Noisy("a"), entered, Noisy("c"), Noisy("b")) => panic!("it has no end"),
            entered = inside => entered.unwrap(),
        }
        assert!(HOLD.take().is_some());
        assert_eq!(DROPPED.take(), ["local", "b", "c", "a"]);
        // given back in the background: the next in line gets it
        let guard = locks.lock("endless").acquire().await.unwrap();
        guard.release().await.unwrap();
    });
}

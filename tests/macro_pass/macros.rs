//! Functions that a `macro_rules` macro makes, from every kind of fragment.

use std::time::Duration;

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};

type Answer = Result<u64, LockError>;

#[test]
fn from_fragments() {
    macro_rules! made {
        ($name:ident, $key:literal, $lease:literal, $mode:literal, $argument:ident: $type:ty, $returns:ty, $body:block) => {
            #[distributed_lock(key = $key, lease = $lease, mode = $mode)]
            async fn $name($argument: $type) -> $returns $body
        };
    }
    made!(locked, "made:<id>", "2s", "reject", id: u64, Result<u64, LockError>, {
        refused("made:1").await;
        Ok(id)
    });
    case(async { assert_eq!(locked(1).await.unwrap(), 1) });
}

#[test]
fn key_inside() {
    macro_rules! made {
        ($name:ident, $id:ident) => {
            #[distributed_lock(key = "inside:<id>")]
            async fn $name($id: u64) -> Answer {
                refused("inside:2").await;
                Ok($id)
            }
        };
    }
    made!(locked, id);
    case(async { assert_eq!(locked(2).await.unwrap(), 2) });
}

#[test]
fn argument_inside() {
    macro_rules! made {
        ($name:ident, $key:literal) => {
            #[distributed_lock(key = $key)]
            async fn $name(id: u64) -> Answer {
                refused("argument:3").await;
                Ok(id)
            }
        };
    }
    made!(locked, "argument:<id>");
    case(async { assert_eq!(locked(3).await.unwrap(), 3) });
}

#[test]
fn all_inside() {
    macro_rules! made {
        ($name:ident) => {
            #[distributed_lock(key = "all:<id>", lease = Duration::from_secs(id), when = id > 1, or_else = move |_| Ok(id))]
            async fn $name(id: u64) -> Answer {
                refused("all:4").await;
                Ok(id)
            }
        };
    }
    made!(locked);
    case(async { assert_eq!(locked(4).await.unwrap(), 4) });
}

#[test]
fn patterns_and_expressions() {
    macro_rules! made {
        ($name:ident, $pattern:pat, $lease:expr, $value:expr) => {
            #[distributed_lock(key = "pattern:<b>", lease = $lease)]
            async fn $name($pattern: (u64, u64)) -> Answer {
                refused("pattern:5").await;
                $value
            }
        };
    }
    made!(locked, (_, b), Duration::from_secs(b), Ok(b));
    case(async { assert_eq!(locked((0, 5)).await.unwrap(), 5) });
}

#[test]
fn methods() {
    macro_rules! made {
        ($type:ident, $self:ident, $body:block) => {
            struct $type(u64);
            impl $type {
                #[distributed_lock(key = "method:<self.0>")]
                async fn method(&$self) -> Answer $body
            }
        };
    }
    made!(Service, self, {
        refused("method:6").await;
        Ok(self.0)
    });
    case(async { assert_eq!(Service(6).method().await.unwrap(), 6) });
}

#[test]
fn path_of_the_runtime() {
    macro_rules! made {
        ($name:ident, $runtime:path) => {
            #[distributed_lock(key = "runtime", crate = $runtime)]
            async fn $name() -> Answer {
                refused("runtime").await;
                Ok(7)
            }
        };
    }
    made!(locked, ::lockruntime);
    case(async { assert_eq!(locked().await.unwrap(), 7) });
}

#[test]
fn whole_item() {
    macro_rules! item {
        ($function:item) => {
            $function
        };
    }
    item! {
        #[distributed_lock(key = "item")]
        async fn locked() -> Answer {
            refused("item").await;
            Ok(8)
        }
    }
    case(async { assert_eq!(locked().await.unwrap(), 8) });
}

#[test]
fn attribute_as_a_fragment() {
    macro_rules! made {
        ($(#[$attribute:meta])* $visibility:vis $name:ident) => {
            $(#[$attribute])*
            $visibility async fn $name() -> Answer {
                refused("meta").await;
                Ok(9)
            }
        };
    }
    made!(
        #[distributed_lock(key = "meta")]
        #[inline]
        pub(crate) locked
    );
    case(async { assert_eq!(locked().await.unwrap(), 9) });
}

#[test]
fn repetitions() {
    macro_rules! made {
        ($($name:ident($($argument:ident),*) = $key:literal;)*) => {$(
            #[distributed_lock(key = $key)]
            async fn $name($($argument: u64),*) -> Answer {
                refused(stringify!($name)).await;
                Ok(0 $(+ $argument)*)
            }
        )*};
    }
    made! {
        none() = "none";
        one(a) = "one";
        two(a, b) = "two";
    }
    case(async {
        assert_eq!(none().await.unwrap(), 0);
        assert_eq!(one(1).await.unwrap(), 1);
        assert_eq!(two(1, 2).await.unwrap(), 3);
    });
}

#[test]
fn lists_of_keys() {
    macro_rules! made {
        ($name:ident, $($key:literal),*) => {
            #[distributed_lock(key = [$($key),*], max_waiters = 3)]
            async fn $name(id: u64) -> Answer {
                refused("one:1").await;
                refused("two:1").await;
                Ok(id)
            }
        };
    }
    made!(locked, "one:<id>", "two:<id>");
    case(async { assert_eq!(locked(1).await.unwrap(), 1) });
}

#[test]
fn macros_in_the_body() {
    macro_rules! twice {
        ($value:expr) => {
            $value + $value
        };
    }
    #[distributed_lock(key = "body:<id>")]
    async fn locked(id: u64) -> Answer {
        refused("body:1").await;
        let joined = tokio::join!(async { twice!(id) }, async { id });
        Ok(joined.0 + joined.1)
    }
    case(async { assert_eq!(locked(1).await.unwrap(), 3) });
}

//! Functions that a `macro_rules` macro makes, from every kind of fragment.

#[path = "../rival.rs"]
mod rival;

use lockruntime::{LockError, distributed_lock};

type Answer = Result<u64, LockError>;

macro_rules! from_fragments {
    ($name:ident, $key:literal, $lease:literal, $mode:literal, $argument:ident: $type:ty, $returns:ty, $body:block) => {
        #[distributed_lock(key = $key, lease = $lease, mode = $mode)]
        async fn $name($argument: $type) -> $returns $body
    };
}
from_fragments!(fragments, "made:<id>", "2s", "reject", id: u64, Result<u64, LockError>, {
    rival::refused("made:1").await;
    Ok(id)
});

macro_rules! key_inside {
    ($name:ident, $id:ident) => {
        #[distributed_lock(key = "inside:<id>")]
        async fn $name($id: u64) -> Answer {
            rival::refused("inside:2").await;
            Ok($id)
        }
    };
}
key_inside!(key_inside, id);

macro_rules! argument_inside {
    ($name:ident, $key:literal) => {
        #[distributed_lock(key = $key)]
        async fn $name(id: u64) -> Answer {
            rival::refused("argument:3").await;
            Ok(id)
        }
    };
}
argument_inside!(argument_inside, "argument:<id>");

macro_rules! all_inside {
    ($name:ident) => {
        #[distributed_lock(key = "all:<id>", lease = std::time::Duration::from_secs(id))]
        async fn $name(id: u64) -> Answer {
            rival::refused("all:4").await;
            Ok(id)
        }
    };
}
all_inside!(all_inside);

macro_rules! pattern {
    ($name:ident, $pattern:pat, $lease:expr, $value:expr) => {
        #[distributed_lock(key = "pattern:<b>", lease = $lease)]
        async fn $name($pattern: (u64, u64)) -> Answer {
            rival::refused("pattern:5").await;
            $value
        }
    };
}
pattern!(pattern, (_, b), std::time::Duration::from_secs(b), Ok(b));

macro_rules! methods {
    ($type:ident, $self:ident, $body:block) => {
        struct $type(u64);
        impl $type {
            #[distributed_lock(key = "method:<self.0>")]
            async fn method(&$self) -> Answer $body
        }
    };
}
methods!(Methods, self, {
    rival::refused("method:6").await;
    Ok(self.0)
});

macro_rules! runtime {
    ($name:ident, $runtime:path) => {
        #[distributed_lock(key = "runtime", crate = $runtime)]
        async fn $name() -> Answer {
            rival::refused("runtime").await;
            Ok(7)
        }
    };
}
runtime!(runtime, ::lockruntime);

macro_rules! item {
    ($function:item) => {
        $function
    };
}
item! {
    #[distributed_lock(key = "item")]
    async fn item() -> Answer {
        rival::refused("item").await;
        Ok(8)
    }
}

async fn case() -> Result<(), LockError> {
    assert_eq!(fragments(1).await?, 1);
    assert_eq!(key_inside(2).await?, 2);
    assert_eq!(argument_inside(3).await?, 3);
    assert_eq!(all_inside(4).await?, 4);
    assert_eq!(pattern((0, 5)).await?, 5);
    assert_eq!(Methods(6).method().await?, 6);
    assert_eq!(runtime().await?, 7);
    assert_eq!(item().await?, 8);
    Ok(())
}

fn main() {
    rival::run(case()).unwrap();
}

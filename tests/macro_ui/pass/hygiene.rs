//! Names of the user's that sound like the expansion's, and traits that would make its calls ambiguous.

#[path = "../rival.rs"]
mod rival;

mod std {}
mod core {}
mod alloc {}
mod lockruntime {}
mod __private {}

#[allow(non_upper_case_globals, unused_imports, unused_macros)]
mod shadows {
    pub(crate) struct Box;
    pub(crate) struct Call;
    pub(crate) struct Duration;
    pub(crate) struct Mode;
    pub(crate) struct Pin;
    pub(crate) struct Future;
    pub(crate) struct String;
    pub(crate) type Result = ::lockruntime::LockError;

    pub(crate) const call: u8 = 1;
    pub(crate) const body: u8 = 2;
    pub(crate) const guard: u8 = 3;
    pub(crate) const output: u8 = 4;

    /// Every method that generated code could have called without naming its trait.
    pub(crate) trait Blanket {
        fn new(&self) {}
        fn text(&self) {}
        fn value(&self) {}
        fn fill(&self) {}
        fn mode(&self) {}
        fn lease(&self) {}
        fn wait(&self) {}
        fn pin(&self) {}
        fn run(&self) {}
        fn to_string(&self) {}
        fn release(&self) {}
        fn from_lock_error(&self) {}
        fn into_future(&self) {}
    }
    impl<T: ?Sized> Blanket for T {}

    macro_rules! concat {
        ($($any:tt)*) => {
            ::core::compile_error!("not this one")
        };
    }
    pub(crate) use concat;
    pub(crate) use concat as module_path;
    pub(crate) use concat as format;
}

#[allow(unused_imports)]
use shadows::*;

#[::lockruntime::distributed_lock(
    key = "a:<key>:<guard_>",
    lease = "2s",
    wait = "1s",
    mode = "queue"
)]
async fn names(key: u64, guard_: u64, call_: u64) -> ::core::result::Result<u64, Result> {
    rival::refused("a:1:2").await;
    let __lockruntime_body = 1;
    Ok(key + guard_ + call_ + __lockruntime_body)
}

#[::lockruntime::distributed_lock(key = "a")]
async fn options(early: bool) -> ::core::result::Result<u64, Result> {
    rival::refused("a").await;
    struct Some;
    struct None;
    let _ = (Some, None);
    if early {
        ::core::result::Result::Ok(1)
    } else {
        ::core::result::Result::Err(Option::None::<Result>.unwrap())
    }
}

/// A function may have a name that the expansion uses.
#[::lockruntime::distributed_lock(key = "run:<run>")]
async fn run(run: u64) -> ::core::result::Result<u64, Result> {
    rival::refused("run:1").await;
    fn helper(n: u64) -> u64 {
        n + 1
    }
    Ok(helper(run))
}

/// Nested: the inner attribute must not see the outer one's names.
#[::lockruntime::distributed_lock(key = "outer:<id>")]
async fn outer(id: u64) -> ::core::result::Result<u64, Result> {
    #[::lockruntime::distributed_lock(key = "inner:<id>")]
    async fn inner(id: u64) -> ::core::result::Result<u64, Result> {
        rival::refused("outer:1").await;
        rival::refused("inner:2").await;
        Ok(id)
    }
    inner(id + 1).await
}

#[no_implicit_prelude]
mod bare {
    #[::lockruntime::distributed_lock(key = "bare:<id>:<pair.0>", lease = "2s", mode = "reject")]
    pub(crate) async fn bare(
        id: u64,
        pair: (u8, u8),
        (_, _unused): (u8, u8),
    ) -> ::core::result::Result<u64, ::lockruntime::LockError> {
        crate::rival::refused("bare:1:2").await;
        let _ = pair;
        ::core::result::Result::Ok(id)
    }
}

async fn case() -> ::core::result::Result<(), Result> {
    assert_eq!(names(1, 2, 3).await?, 7);
    assert_eq!(options(true).await?, 1);
    assert_eq!(run(1).await?, 2);
    assert_eq!(outer(1).await?, 2);
    assert_eq!(bare::bare(1, (2, 3), (0, 0)).await?, 1);
    Ok(())
}

fn main() {
    rival::run(case()).unwrap();
}

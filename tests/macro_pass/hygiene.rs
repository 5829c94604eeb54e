//! Names of the user's that sound like the expansion's, and traits that would make its calls ambiguous.

mod std {}
mod core {}
mod alloc {}
mod lockruntime {}
mod __private {}

use ::tests::rival::{case, refused};

#[expect(
    dead_code,
    non_camel_case_types,
    non_upper_case_globals,
    unused_imports,
    unused_macros,
    reason = "they stand in the way, whether used or not"
)]
mod shadows {
    pub(crate) struct Box;
    pub(crate) struct Call;
    pub(crate) struct Duration;
    pub(crate) struct Mode;
    pub(crate) struct Pin;
    pub(crate) struct Future;
    pub(crate) struct String;
    pub(crate) struct bool;
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
        fn when(&self) {}
        fn choose(&self) {}
        fn refuse(&self) {}
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

mod among_shadows {
    use super::refused;
    use super::shadows::*;

    type Answer = ::core::result::Result<u64, Result>;

    #[::lockruntime::distributed_lock(
        key = "a:<key>:<guard_>",
        lease = "2s",
        wait = "1s",
        mode = "queue"
    )]
    pub(super) async fn names(key: u64, guard_: u64, call_: u64) -> Answer {
        refused("a:1:2").await;
        let __lockruntime_body = 1;
        Ok(key + guard_ + call_ + __lockruntime_body)
    }

    #[::lockruntime::distributed_lock(key = "a")]
    pub(super) async fn prelude_inside() -> Answer {
        struct Some;
        struct None;
        refused("a").await;
        let _ = (Some, None);
        ::core::result::Result::Ok(1)
    }

    /// A function may have a name that the expansion uses.
    #[::lockruntime::distributed_lock(key = "run:<run>")]
    pub(super) async fn run(run: u64) -> Answer {
        fn helper(n: u64) -> u64 {
            n + 1
        }
        refused("run:1").await;
        Ok(helper(run))
    }

    #[::lockruntime::distributed_lock(
        key = "every:<body_>",
        manager = &::tests::rival::locks(),
        when = body_ > 0,
        or_else = |_error| ::core::result::Result::Ok(0)
    )]
    pub(super) async fn every_expression(body_: u64) -> Answer {
        refused("every:1").await;
        Ok(body_)
    }
}

#[test]
fn constants_types_traits_and_macros() {
    case(async { assert_eq!(among_shadows::names(1, 2, 3).await.unwrap(), 7) });
}

#[test]
fn prelude_inside_of_the_body() {
    case(async { assert_eq!(among_shadows::prelude_inside().await.unwrap(), 1) });
}

#[test]
fn a_function_called_run() {
    case(async { assert_eq!(among_shadows::run(1).await.unwrap(), 2) });
}

#[test]
fn every_expression_among_shadows() {
    case(async { assert_eq!(among_shadows::every_expression(1).await.unwrap(), 1) });
}

/// The inner attribute must not see the outer one's names.
#[test]
fn one_inside_of_the_other() {
    #[::lockruntime::distributed_lock(key = "outer:<id>")]
    async fn outer(id: u64) -> Result<u64, ::lockruntime::LockError> {
        #[::lockruntime::distributed_lock(key = "inner:<id>")]
        async fn inner(id: u64) -> Result<u64, ::lockruntime::LockError> {
            refused("outer:1").await;
            refused("inner:2").await;
            Ok(id)
        }
        inner(id + 1).await
    }
    case(async { assert_eq!(outer(1).await.unwrap(), 2) });
}

#[no_implicit_prelude]
mod bare {
    #[::lockruntime::distributed_lock(key = "bare:<id>:<pair.0>", lease = "2s", mode = "reject")]
    pub(super) async fn bare(
        id: u64,
        pair: (u8, u8),
        (_, _unused): (u8, u8),
    ) -> ::core::result::Result<u64, ::lockruntime::LockError> {
        ::tests::rival::refused("bare:1:2").await;
        let _ = pair;
        ::core::result::Result::Ok(id)
    }
}

#[test]
fn no_prelude_at_all() {
    case(async { assert_eq!(bare::bare(1, (2, 3), (0, 0)).await.unwrap(), 1) });
}

#[test]
fn arguments_that_sound_like_the_attribute() {
    #[::lockruntime::distributed_lock(key = "<key>:<lease>:<mode>:<wait>")]
    async fn locked(
        key: u8,
        lease: u8,
        mode: u8,
        wait: u8,
    ) -> Result<u8, ::lockruntime::LockError> {
        refused("1:2:3:4").await;
        Ok(key + lease + mode + wait)
    }
    case(async { assert_eq!(locked(1, 2, 3, 4).await.unwrap(), 10) });
}

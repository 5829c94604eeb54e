//! B86: attributes on the function, on its arguments and in its body; other macros above and below.

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, of_the_process, refused};
use tracing::instrument;

type Answer<T> = Result<T, LockError>;

#[test]
fn b86_documentation() {
    /// One line,
    /**  and another. */
    #[distributed_lock(key = "a")]
    #[doc = "And more."]
    async fn locked() -> Answer<()> {
        //! Inside as well.
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn b86_must_use_and_inline() {
    #[must_use = "it is a payment"]
    #[distributed_lock(key = "a")]
    #[inline]
    async fn locked() -> Answer<()> {
        refused("a").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn b86_cfg_on_the_function() {
    #[cfg(not(any()))]
    #[distributed_lock(key = "a")]
    async fn locked() -> Answer<u8> {
        refused("a").await;
        Ok(1)
    }
    #[distributed_lock(key = "a:<nothing>")]
    #[cfg(any())]
    async fn locked() -> Answer<u8> {
        Ok(2)
    }
    case(async { assert_eq!(locked().await.unwrap(), 1) });
}

#[test]
fn b86_cfg_on_arguments() {
    #[distributed_lock(key = "a:<id>:<more>")]
    async fn locked(
        id: u64,
        #[cfg(any())] id: String,
        #[cfg(not(any()))] more: u8,
        #[cfg_attr(not(any()), cfg(any()))] gone: Nowhere,
    ) -> Answer<u64> {
        refused("a:1:2").await;
        Ok(id + u64::from(more))
    }
    case(async { assert_eq!(locked(1, 2).await.unwrap(), 3) });
}

#[test]
fn b86_cfg_in_the_body() {
    #[distributed_lock(key = "a")]
    async fn locked() -> Answer<u8> {
        refused("a").await;
        #[cfg(any())]
        return Ok(0);
        #[cfg(not(any()))]
        return Ok(1);
    }
    case(async { assert_eq!(locked().await.unwrap(), 1) });
}

#[test]
fn b86_cfg_attr_that_brings_the_lock() {
    #[cfg_attr(not(any()), distributed_lock(key = "a"))]
    async fn locked() -> Answer<u8> {
        refused("a").await;
        Ok(1)
    }
    case(async { assert_eq!(locked().await.unwrap(), 1) });
}

#[test]
fn b86_lints_on_arguments() {
    #[distributed_lock(key = "a")]
    async fn locked(
        #[expect(unused_variables)] id: u64,
        #[expect(unused_mut)] mut n: u8,
    ) -> Answer<u8> {
        refused("a").await;
        Ok(n)
    }
    case(async { assert_eq!(locked(1, 2).await.unwrap(), 2) });
}

#[test]
fn b86_lints_at_the_top_of_the_body() {
    #[distributed_lock(key = "a")]
    async fn locked() -> Answer<u8> {
        #![expect(non_snake_case)]
        refused("a").await;
        let Sum = 1;
        Ok(Sum)
    }
    case(async { assert_eq!(locked().await.unwrap(), 1) });
}

#[test]
fn b86_deprecated() {
    #[deprecated]
    #[distributed_lock(key = "a")]
    async fn locked() -> Answer<()> {
        refused("a").await;
        Ok(())
    }
    #[expect(deprecated)]
    case(async { locked().await.unwrap() });
}

#[test]
fn b86_instrument_above() {
    #[instrument(skip_all, fields(id))]
    #[distributed_lock(key = "a:<id>")]
    async fn locked(id: u64) -> Answer<u64> {
        refused("a:1").await;
        Ok(id)
    }
    case(async { assert_eq!(locked(1).await.unwrap(), 1) });
}

#[test]
fn b86_instrument_below() {
    #[distributed_lock(key = "a:<id>")]
    #[instrument(ret, err)]
    async fn locked(id: u64) -> Answer<u64> {
        refused("a:1").await;
        Ok(id)
    }
    case(async { assert_eq!(locked(1).await.unwrap(), 1) });
}

/// The attribute below records what the pattern binds.
#[test]
fn b86_instrument_below_and_a_pattern() {
    #[distributed_lock(key = "a:<id>")]
    #[instrument]
    async fn locked((id, _): (u64, u8), mut n: u64) -> Answer<u64> {
        refused("a:1").await;
        n += id;
        Ok(n)
    }
    case(async { assert_eq!(locked((1, 0), 2).await.unwrap(), 3) });
}

#[test]
fn b86_instrument_on_methods() {
    #[derive(Debug)]
    struct Service {
        id: u64,
    }
    impl Service {
        #[instrument]
        #[distributed_lock(key = "above:<self.id>")]
        async fn above(&mut self) -> Answer<u64> {
            refused("above:1").await;
            self.id += 1;
            Ok(self.id)
        }

        #[distributed_lock(key = "below:<self.id>")]
        #[instrument(skip(self))]
        async fn below(self) -> Answer<u64> {
            refused("below:2").await;
            Ok(self.id)
        }
    }
    case(async {
        let mut service = Service { id: 1 };
        assert_eq!(service.above().await.unwrap(), 2);
        assert_eq!(service.below().await.unwrap(), 2);
    });
}

#[test]
fn b86_twice() {
    #[distributed_lock(key = "upper:<a>")]
    #[distributed_lock(key = "lower:<b>")]
    async fn locked((a, b): (u64, u64)) -> Answer<u64> {
        refused("upper:1").await;
        refused("lower:2").await;
        Ok(a + b)
    }
    case(async { assert_eq!(locked((1, 2)).await.unwrap(), 3) });
}

#[test]
fn b86_above_the_main_function() {
    #[distributed_lock(key = "main")]
    #[tokio::main(flavor = "current_thread")]
    async fn start() -> Answer<()> {
        refused("main").await;
        Ok(())
    }
    let rival = of_the_process();
    let before = rival.refusals();
    start().unwrap();
    assert!(rival.refusals() > before);
}

/// Above the macro that makes a test of it: this is the test.
#[distributed_lock(key = "test", manager = of_the_process().locks())]
#[tokio::test]
async fn b86_above_an_async_test() -> Answer<()> {
    refused("test").await;
    Ok(())
}

#[test]
fn b86_inside_of_a_function() {
    async fn outside() -> Answer<u8> {
        #[distributed_lock(key = "inside")]
        async fn local() -> Answer<u8> {
            refused("inside").await;
            Ok(3)
        }
        local().await
    }
    case(async { assert_eq!(outside().await.unwrap(), 3) });
}

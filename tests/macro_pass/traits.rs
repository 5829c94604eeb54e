//! Native async functions in traits: implementations, defaults, calls through generics.

use std::future::Future;

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};

type Answer<T> = Result<T, LockError>;

trait Pay {
    const NAME: &'static str;

    async fn pay(&self, id: u64) -> Answer<u64>;

    #[distributed_lock(key = "twice:<id>")]
    async fn twice(&self, id: u64) -> Answer<u64>
    where
        Self: Sized,
    {
        refused("twice:1").await;
        Ok(self.pay(id).await? + self.pay(id).await?)
    }

    #[distributed_lock(key = "create")]
    async fn create() -> Answer<Self>
    where
        Self: Default,
    {
        refused("create").await;
        assert_eq!(Self::NAME, "boleto");
        Ok(Self::default())
    }

    fn sendable(&self) -> impl Future<Output = Answer<u64>> + Send;
}

#[derive(Default)]
struct Boleto {
    fee: u64,
}

impl Pay for Boleto {
    const NAME: &'static str = "boleto";

    #[distributed_lock(key = "pay:<id>:<self.fee>")]
    async fn pay(&self, id: u64) -> Answer<u64> {
        refused("pay:1:0").await;
        Ok(id + self.fee)
    }

    /// The trait asks for a future, and for `Send`; an async function gives both.
    #[distributed_lock(key = "sendable:<self.fee>")]
    async fn sendable(&self) -> Answer<u64> {
        refused("sendable:0").await;
        Ok(self.fee)
    }
}

#[test]
fn implementation() {
    case(async { assert_eq!(Boleto::default().pay(1).await.unwrap(), 1) });
}

#[test]
fn default_body() {
    case(async { assert_eq!(Boleto::default().twice(1).await.unwrap(), 2) });
}

#[test]
fn no_receiver() {
    case(async { assert_eq!(Boleto::create().await.unwrap().fee, 0) });
}

#[test]
fn through_a_generic() {
    async fn through<P: Pay>(pay: &P) -> Answer<u64> {
        pay.pay(1).await
    }
    case(async { assert_eq!(through(&Boleto::default()).await.unwrap(), 1) });
}

#[test]
fn for_a_declared_future() {
    fn is_send<F: Future + Send>(future: F) -> F {
        future
    }
    case(async { assert_eq!(is_send(Boleto::default().sendable()).await.unwrap(), 0) });
}

#[test]
fn associated_types_and_constants() {
    trait Store {
        type Item: Default;
        type Error: From<LockError> + std::fmt::Debug;

        #[distributed_lock(key = "store")]
        async fn get(&self) -> Result<Self::Item, Self::Error> {
            refused("store").await;
            Ok(Self::Item::default())
        }
    }
    impl Store for Boleto {
        type Item = u8;
        type Error = LockError;
    }
    case(async { assert_eq!(Boleto::default().get().await.unwrap(), 0) });
}

#[test]
fn on_foreign_types() {
    trait Short {
        async fn short(self) -> Answer<usize>;
    }
    impl<T: AsRef<str>> Short for Option<T> {
        #[distributed_lock(key = "short")]
        async fn short(self) -> Answer<usize> {
            refused("short").await;
            Ok(self.map_or(0, |text| text.as_ref().len()))
        }
    }
    case(async { assert_eq!(Some("xy").short().await.unwrap(), 2) });
}

#[test]
fn enum_methods_and_self_patterns() {
    enum Order {
        Open(u64),
        Closed,
    }
    impl Order {
        #[distributed_lock(key = "order")]
        async fn close(self) -> Answer<Self> {
            refused("order").await;
            Ok(match self {
                Self::Open(0) | Self::Closed => Self::Closed,
                Self::Open(left) => Self::Open(left - 1),
            })
        }
    }
    case(async {
        assert!(matches!(
            Order::Open(0).close().await.unwrap(),
            Order::Closed
        ))
    });
}

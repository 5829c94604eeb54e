//! Methods under `#[async_trait]`, and boxed by hand: the lock is inside of the block that they return.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};
use tracing::instrument;

type Answer<T> = Result<T, LockError>;
type Boxed<'a, T> = Pin<Box<dyn Future<Output = Answer<T>> + Send + 'a>>;

#[async_trait]
trait Pay: Send + Sync {
    async fn pay(&self, id: u64) -> Answer<u64>;

    #[distributed_lock(key = "twice:<id>:<name>")]
    async fn twice(&self, mut id: u64, name: &str) -> Answer<u64> {
        refused("twice:1:x").await;
        if name.is_empty() {
            return Ok(0);
        }
        id = self.pay(id).await? + self.pay(id).await?;
        Ok(id)
    }

    async fn change(&mut self, by: u64) -> Answer<&mut u64>;

    async fn consume(self: Box<Self>) -> Answer<u64>;

    async fn shared(self: Arc<Self>, text: &str) -> Answer<usize>;

    async fn create(id: u64) -> Answer<Self>
    where
        Self: Sized;
}

#[derive(Debug)]
struct Boleto {
    fee: u64,
}

#[async_trait]
impl Pay for Boleto {
    #[distributed_lock(key = "pay:<id>:<self.fee>", mode = "reject")]
    async fn pay(&self, id: u64) -> Answer<u64> {
        refused("pay:1:0").await;
        Ok(id + self.fee)
    }

    #[distributed_lock(key = "change:<self.fee>:<by>")]
    async fn change(&mut self, by: u64) -> Answer<&mut u64> {
        refused("change:0:5").await;
        self.fee += by;
        Ok(&mut self.fee)
    }

    #[distributed_lock(key = "consume:<self.fee>")]
    async fn consume(self: Box<Self>) -> Answer<u64> {
        refused("consume:0").await;
        Ok(self.fee)
    }

    #[distributed_lock(key = "shared:<text>")]
    #[instrument(skip(self))]
    async fn shared(self: Arc<Self>, text: &str) -> Answer<usize> {
        refused("shared:x").await;
        Ok(Arc::strong_count(&self))
    }

    #[instrument]
    #[distributed_lock(key = "create:<id>")]
    async fn create(id: u64) -> Answer<Self> {
        refused("create:7").await;
        Ok(Self { fee: id })
    }
}

fn boleto() -> Boleto {
    Boleto { fee: 0 }
}

#[test]
fn through_a_trait_object() {
    case(async {
        let boleto: &dyn Pay = &boleto();
        assert_eq!(boleto.pay(1).await.unwrap(), 1);
    });
}

#[test]
fn default_body() {
    case(async { assert_eq!(boleto().twice(1, "x").await.unwrap(), 2) });
}

#[test]
fn mutable_receiver() {
    case(async { assert_eq!(boleto().change(5).await.unwrap(), &mut 5) });
}

#[test]
fn boxed_receiver() {
    case(async { assert_eq!(Box::new(boleto()).consume().await.unwrap(), 0) });
}

#[test]
fn shared_receiver_and_instrument_below() {
    case(async { assert_eq!(Arc::new(boleto()).shared("x").await.unwrap(), 1) });
}

#[test]
fn no_receiver_and_instrument_above() {
    case(async { assert_eq!(Boleto::create(7).await.unwrap().fee, 7) });
}

#[test]
fn not_send() {
    #[async_trait(?Send)]
    trait Local {
        async fn run(&self, text: std::rc::Rc<str>) -> Answer<usize>;
    }
    #[async_trait(?Send)]
    impl Local for Boleto {
        #[distributed_lock(key = "local:<text>")]
        async fn run(&self, text: std::rc::Rc<str>) -> Answer<usize> {
            refused("local:xy").await;
            Ok(text.len())
        }
    }
    case(async { assert_eq!(boleto().run("xy".into()).await.unwrap(), 2) });
}

#[test]
fn generic_trait_and_method() {
    #[async_trait]
    trait Store<T> {
        async fn get<K: Display + Send + 'static>(&self, key: K, value: T) -> Answer<T>
        where
            T: 'async_trait;
    }
    #[async_trait]
    impl<T: Send> Store<T> for Boleto {
        #[distributed_lock(key = "get:<key>")]
        async fn get<K: Display + Send + 'static>(&self, key: K, value: T) -> Answer<T>
        where
            T: 'async_trait,
        {
            refused("get:k").await;
            Ok(value)
        }
    }
    case(async { assert_eq!(boleto().get('k', 3).await.unwrap(), 3) });
}

#[test]
fn fields_of_an_argument() {
    struct Service;
    #[async_trait]
    trait Fields {
        async fn run(&self, pair: (u64, u64)) -> Answer<u64>;
    }
    #[async_trait]
    impl Fields for Service {
        #[distributed_lock(key = "pattern:<fixed.0>", or_else = |_| Ok(0))]
        async fn run(&self, fixed: (u64, u64)) -> Answer<u64> {
            refused("pattern:1").await;
            Ok(fixed.1)
        }
    }
    case(async { assert_eq!(Service.run((1, 2)).await.unwrap(), 2) });
}

#[test]
fn boxed_by_hand() {
    struct Service {
        fee: u64,
    }
    impl Service {
        #[distributed_lock(key = "hand:<id>:<self.fee>")]
        fn pay<'a>(&'a self, id: u64) -> Pin<Box<dyn Future<Output = Answer<u64>> + Send + 'a>> {
            let fee = self.fee;
            Box::pin(async move {
                refused("hand:1:0").await;
                Ok(id + fee)
            })
        }
    }
    case(async { assert_eq!(Service { fee: 0 }.pay(1).await.unwrap(), 1) });
}

#[test]
fn recursion_boxed_by_hand() {
    #[distributed_lock(key = "down:<n>")]
    fn down(n: u64) -> Pin<Box<dyn Future<Output = Answer<u64>> + Send>> {
        Box::pin(async move {
            refused(&format!("down:{n}")).await;
            if n == 0 {
                Ok(0)
            } else {
                Ok(1 + down(n - 1).await?)
            }
        })
    }
    fn boxed<'a>() -> Boxed<'a, u64> {
        down(3)
    }
    case(async { assert_eq!(boxed().await.unwrap(), 3) });
}

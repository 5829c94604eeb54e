//! Functions that return a boxed async block, as `#[async_trait]` leaves its methods: the lock is inside the block.

#[path = "../rival.rs"]
mod rival;

use std::pin::Pin;

use lockruntime::{LockError, distributed_lock};

type Answer<T> = Result<T, LockError>;
type Boxed<'a, T> = Pin<Box<dyn Future<Output = Answer<T>> + Send + 'a>>;

trait Pay: Sync {
    fn pay<'a>(&'a self, id: u64) -> Boxed<'a, u64>;

    /// What `#[async_trait]` makes of `async fn twice(&self, mut id: u64, name: &str) -> Answer<u64>`.
    #[allow(clippy::type_complexity)]
    #[distributed_lock(key = "twice:<id>:<name>")]
    fn twice<'life0, 'life1, 'async_trait>(
        &'life0 self,
        id: u64,
        name: &'life1 str,
    ) -> ::core::pin::Pin<
        Box<dyn ::core::future::Future<Output = Answer<u64>> + ::core::marker::Send + 'async_trait>,
    >
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            if let ::core::option::Option::Some(__ret) = ::core::option::Option::None::<Answer<u64>>
            {
                return __ret;
            }
            let __self = self;
            let mut id = id;
            let name = name;
            let __ret: Answer<u64> = {
                rival::refused("twice:1:x").await;
                if name.is_empty() {
                    return Ok(0);
                }
                id = __self.pay(id).await? + __self.pay(id).await?;
                Ok(id)
            };
            #[allow(unreachable_code)]
            __ret
        })
    }
}

struct Boleto {
    fee: u64,
}

impl Pay for Boleto {
    #[distributed_lock(key = "pay:<id>:<self.fee>")]
    fn pay<'a>(&'a self, id: u64) -> Pin<Box<dyn Future<Output = Answer<u64>> + Send + 'a>> {
        let fee = self.fee;
        Box::pin(async move {
            rival::refused("pay:1:0").await;
            Ok(id + fee)
        })
    }
}

async fn case() -> Answer<()> {
    let boleto: &dyn Pay = &Boleto { fee: 0 };
    assert_eq!(boleto.pay(1).await?, 1);
    assert_eq!(boleto.twice(1, "x").await?, 2);
    Ok(())
}

fn main() {
    rival::run(case()).unwrap();
}

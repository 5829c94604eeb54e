//! B82: whichever way a function is called, it takes its lock.

#[path = "../rival.rs"]
mod rival;

use std::pin::Pin;

use lockruntime::{LockError, distributed_lock};

type Answer = Result<u64, LockError>;

#[distributed_lock(key = "a:<id>", mode = "reject")]
async fn pay(id: u64) -> Answer {
    rival::refused("a:1").await;
    Ok(id)
}

struct Service;

impl Service {
    #[distributed_lock(key = "self:<id>")]
    async fn pay(&self, id: u64) -> Answer {
        rival::refused("self:1").await;
        Ok(id)
    }

    async fn through_self(&self) -> Answer {
        self.pay(1).await
    }
}

trait Dynamic {
    fn pay(&self, id: u64) -> Pin<Box<dyn Future<Output = Answer> + '_>>;
}

impl Dynamic for Service {
    fn pay(&self, id: u64) -> Pin<Box<dyn Future<Output = Answer> + '_>> {
        Box::pin(self.pay(id))
    }
}

async fn call<F: Future<Output = Answer>>(function: impl Fn(u64) -> F) -> Answer {
    function(1).await
}

async fn case() -> Answer {
    pay(1).await?;
    Service.through_self().await?;
    let dynamic: &dyn Dynamic = &Service;
    dynamic.pay(1).await?;
    let pointer: fn(u64) -> _ = pay;
    pointer(1).await?;
    call(pay).await?;
    call(|id| pay(id)).await?;
    call(async |id| pay(id).await).await?;
    let boxed: Pin<Box<dyn Future<Output = Answer> + Send>> = Box::pin(pay(1));
    boxed.await
}

fn main() {
    assert_eq!(rival::run(case()).unwrap(), 1);
}

//! Native async functions in traits: implementations, defaults, calls through generics.

#[path = "../rival.rs"]
mod rival;

use lockruntime::{LockError, distributed_lock};

type Answer<T> = Result<T, LockError>;

trait Pay {
    const NAME: &'static str;

    async fn pay(&self, id: u64) -> Answer<u64>;

    #[distributed_lock(key = "twice:<id>")]
    async fn twice(&self, id: u64) -> Answer<u64>
    where
        Self: Sized,
    {
        rival::refused("twice:1").await;
        Ok(self.pay(id).await? + self.pay(id).await?)
    }

    #[distributed_lock(key = "create")]
    async fn create() -> Answer<Self>
    where
        Self: Default,
    {
        rival::refused("create").await;
        assert_eq!(Self::NAME, "boleto");
        Ok(Self::default())
    }
}

#[derive(Default)]
struct Boleto {
    fee: u64,
}

impl Pay for Boleto {
    const NAME: &'static str = "boleto";

    #[distributed_lock(key = "pay:<id>:<self.fee>")]
    async fn pay(&self, id: u64) -> Answer<u64> {
        rival::refused("pay:1:0").await;
        Ok(id + self.fee)
    }
}

/// B82: through a generic, too.
async fn through<P: Pay>(pay: &P) -> Answer<u64> {
    pay.pay(1).await
}

async fn case() -> Answer<()> {
    let boleto = Boleto::create().await?;
    assert_eq!(boleto.pay(1).await?, 1);
    assert_eq!(boleto.twice(1).await?, 2);
    assert_eq!(through(&boleto).await?, 1);
    Ok(())
}

fn main() {
    rival::run(case()).unwrap();
}

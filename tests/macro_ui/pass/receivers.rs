//! Methods with every receiver.

#[path = "../rival.rs"]
mod rival;

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;

use lockruntime::{LockError, distributed_lock};

#[derive(Clone, Default)]
struct Service {
    tenant: String,
    count: u32,
}

type Answer<T> = Result<T, LockError>;

impl Service {
    #[distributed_lock(key = "<self.tenant>:<id>")]
    async fn by_ref(&self, id: u64) -> Answer<&str> {
        rival::refused("acme:7").await;
        let _ = id;
        Ok(&self.tenant)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_mut(&mut self) -> Answer<u32> {
        rival::refused("acme").await;
        self.count += 1;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_value(self) -> Answer<String> {
        rival::refused("acme").await;
        Ok(self.tenant)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_mut_value(mut self) -> Answer<Self> {
        rival::refused("acme").await;
        self.count += 1;
        Ok(self)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_typed_ref(self: &Self) -> Answer<u32> {
        rival::refused("acme").await;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_box(self: Box<Self>) -> Answer<u32> {
        rival::refused("acme").await;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_rc(self: Rc<Self>) -> Answer<u32> {
        rival::refused("acme").await;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_arc(self: Arc<Self>, other: &Self) -> Answer<u32> {
        rival::refused("acme").await;
        Ok(self.count + other.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_arc_ref(self: &Arc<Self>) -> Answer<usize> {
        rival::refused("acme").await;
        Ok(Arc::strong_count(self))
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_pin(mut self: Pin<&mut Self>) -> Answer<u32> {
        rival::refused("acme").await;
        self.count += 1;
        Ok(self.count)
    }

    #[distributed_lock(key = "unused")]
    async fn unused(self) -> Answer<()> {
        rival::refused("unused").await;
        Ok(())
    }

    #[distributed_lock(key = "created:<tenant>")]
    async fn create(tenant: &str) -> Answer<Self> {
        rival::refused("created:acme").await;
        Ok(Self {
            tenant: tenant.to_owned(),
            count: 0,
        })
    }
}

async fn case() -> Answer<()> {
    let mut service = Service::create("acme").await?;
    assert_eq!(service.by_ref(7).await?, "acme");
    assert_eq!(service.by_mut().await?, 1);
    assert_eq!(service.clone().by_value().await?, "acme");
    assert_eq!(service.clone().by_mut_value().await?.count, 2);
    assert_eq!(service.by_typed_ref().await?, 1);
    assert_eq!(Box::new(service.clone()).by_box().await?, 1);
    assert_eq!(Rc::new(service.clone()).by_rc().await?, 1);
    let shared = Arc::new(service.clone());
    assert_eq!(shared.by_arc_ref().await?, 1);
    assert_eq!(shared.by_arc(&service).await?, 2);
    let pinned = pin!(service.clone());
    assert_eq!(pinned.by_pin().await?, 2);
    service.unused().await
}

fn main() {
    rival::run(case()).unwrap();
}

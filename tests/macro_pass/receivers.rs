//! Methods with every receiver.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};

type Answer<T> = Result<T, LockError>;

#[derive(Clone)]
struct Service {
    tenant: String,
    count: u32,
}

fn service() -> Service {
    Service {
        tenant: "acme".to_owned(),
        count: 0,
    }
}

impl Service {
    #[distributed_lock(key = "<self.tenant>:<id>")]
    async fn by_ref(&self, id: u64) -> Answer<&str> {
        refused("acme:7").await;
        let _ = id;
        Ok(&self.tenant)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_mut(&mut self) -> Answer<u32> {
        refused("acme").await;
        self.count += 1;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_value(self) -> Answer<String> {
        refused("acme").await;
        Ok(self.tenant)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_mut_value(mut self) -> Answer<Self> {
        refused("acme").await;
        self.count += 1;
        Ok(self)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_typed_ref(self: &Self) -> Answer<u32> {
        refused("acme").await;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_typed_mut(self: &mut Self) -> Answer<u32> {
        refused("acme").await;
        self.count += 2;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_box(self: Box<Self>) -> Answer<u32> {
        refused("acme").await;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_rc(self: Rc<Self>) -> Answer<u32> {
        refused("acme").await;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_arc(self: Arc<Self>, other: &Self) -> Answer<u32> {
        refused("acme").await;
        Ok(self.count + other.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_arc_ref(self: &Arc<Self>) -> Answer<usize> {
        refused("acme").await;
        Ok(Arc::strong_count(self))
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_pin_mut(mut self: Pin<&mut Self>) -> Answer<u32> {
        refused("acme").await;
        self.count += 1;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_pin_ref(self: Pin<&Self>) -> Answer<u32> {
        refused("acme").await;
        Ok(self.count)
    }

    #[distributed_lock(key = "<self.tenant>")]
    async fn by_pin_box(self: Pin<Box<Self>>) -> Answer<u32> {
        refused("acme").await;
        Ok(self.count)
    }

    #[distributed_lock(key = "unused")]
    async fn unused(self) -> Answer<()> {
        refused("unused").await;
        Ok(())
    }

    #[distributed_lock(key = "created:<tenant>")]
    async fn create(tenant: &str) -> Answer<Self> {
        refused("created:acme").await;
        Ok(Self {
            tenant: tenant.to_owned(),
            count: 0,
        })
    }
}

#[test]
fn by_ref() {
    case(async { assert_eq!(service().by_ref(7).await.unwrap(), "acme") });
}

#[test]
fn by_mut() {
    case(async { assert_eq!(service().by_mut().await.unwrap(), 1) });
}

#[test]
fn by_value() {
    case(async { assert_eq!(service().by_value().await.unwrap(), "acme") });
}

#[test]
fn by_mut_value() {
    case(async { assert_eq!(service().by_mut_value().await.unwrap().count, 1) });
}

#[test]
fn by_typed_ref() {
    case(async { assert_eq!(service().by_typed_ref().await.unwrap(), 0) });
}

#[test]
fn by_typed_mut() {
    case(async { assert_eq!(service().by_typed_mut().await.unwrap(), 2) });
}

#[test]
fn by_box() {
    case(async { assert_eq!(Box::new(service()).by_box().await.unwrap(), 0) });
}

#[test]
fn by_rc() {
    case(async { assert_eq!(Rc::new(service()).by_rc().await.unwrap(), 0) });
}

#[test]
fn by_arc() {
    case(async { assert_eq!(Arc::new(service()).by_arc(&service()).await.unwrap(), 0) });
}

#[test]
fn by_arc_ref() {
    case(async { assert_eq!(Arc::new(service()).by_arc_ref().await.unwrap(), 1) });
}

#[test]
fn by_pin_mut() {
    case(async {
        let pinned = pin!(service());
        assert_eq!(pinned.by_pin_mut().await.unwrap(), 1);
    });
}

#[test]
fn by_pin_ref() {
    case(async {
        let pinned = pin!(service());
        assert_eq!(pinned.as_ref().by_pin_ref().await.unwrap(), 0);
    });
}

#[test]
fn by_pin_box() {
    case(async { assert_eq!(Box::pin(service()).by_pin_box().await.unwrap(), 0) });
}

#[test]
fn unused() {
    case(async { service().unused().await.unwrap() });
}

#[test]
fn none_but_self_in_the_return_type() {
    case(async { assert_eq!(Service::create("acme").await.unwrap().tenant, "acme") });
}

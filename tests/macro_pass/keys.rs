//! Everything a key template may hold.

use lockruntime::{LockError, distributed_lock};
use tests::rival::{case, refused};

type Answer = Result<(), LockError>;

#[test]
fn constant() {
    #[distributed_lock(key = "nightly report")]
    async fn locked() -> Answer {
        refused("nightly report").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn angles_and_braces() {
    #[distributed_lock(key = "a:<id>:{id}")]
    async fn locked(id: u64) -> Answer {
        refused("a:1:1").await;
        Ok(())
    }
    case(async { locked(1).await.unwrap() });
}

#[test]
fn nothing_but_a_value() {
    #[distributed_lock(key = "<id>")]
    async fn locked(id: &str) -> Answer {
        refused("x").await;
        Ok(())
    }
    case(async { locked("x").await.unwrap() });
}

#[test]
fn fields_indices_and_keywords() {
    struct Owner {
        names: (String, (u8, u8)),
    }
    struct Request {
        id: u64,
        owner: Owner,
        r#type: &'static str,
    }
    #[distributed_lock(
        key = "<req.id>:<req.owner.names.0>:{req.owner.names.1.1}:<req.type>:<req.r#type>"
    )]
    async fn locked(req: &Request) -> Answer {
        refused("1:n:3:t:t").await;
        Ok(())
    }
    case(async {
        let names = ("n".to_owned(), (2, 3));
        let (owner, r#type) = (Owner { names }, "t");
        locked(&Request {
            id: 1,
            owner,
            r#type,
        })
        .await
        .unwrap();
    });
}

#[test]
fn plain_brackets() {
    #[distributed_lock(key = "a<<b>>c{{d}}")]
    async fn locked() -> Answer {
        refused("a<b>c{d}").await;
        Ok(())
    }
    case(async { locked().await.unwrap() });
}

#[test]
fn raw_string() {
    #[distributed_lock(key = r#"raw "<id>" \"#)]
    async fn locked(id: u64) -> Answer {
        refused(r#"raw "1" \"#).await;
        Ok(())
    }
    case(async { locked(1).await.unwrap() });
}

#[test]
fn unicode() {
    #[distributed_lock(key = "número:<ação>")]
    async fn locked(ação: &str) -> Answer {
        refused("número:é").await;
        Ok(())
    }
    case(async { locked("é").await.unwrap() });
}

#[test]
fn through_references_and_boxes() {
    #[distributed_lock(key = "ref:<id>")]
    async fn locked(id: &&mut Box<u64>) -> Answer {
        refused("ref:1").await;
        Ok(())
    }
    case(async { locked(&&mut Box::new(1)).await.unwrap() });
}

#[test]
fn fields_through_a_smart_pointer() {
    struct Account {
        number: u64,
    }
    #[distributed_lock(key = "account:<account.number>")]
    async fn locked(account: std::sync::Arc<Account>) -> Answer {
        refused("account:3").await;
        Ok(())
    }
    case(async { locked(Account { number: 3 }.into()).await.unwrap() });
}

#[test]
fn self_alone() {
    struct Tenant;
    impl std::fmt::Display for Tenant {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("acme")
        }
    }
    impl Tenant {
        #[distributed_lock(key = "tenant:<self>")]
        async fn locked(&self) -> Answer {
            refused("tenant:acme").await;
            Ok(())
        }
    }
    case(async { Tenant.locked().await.unwrap() });
}

#[test]
fn used_in_the_body_as_well() {
    #[distributed_lock(key = "both:<text>")]
    async fn locked(text: String) -> Answer {
        refused("both:x").await;
        drop(text);
        Ok(())
    }
    case(async { locked("x".to_owned()).await.unwrap() });
}

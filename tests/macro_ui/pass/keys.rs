//! Everything a key template may hold.

#[path = "../rival.rs"]
mod rival;

use lockruntime::{LockError, distributed_lock};

struct Request {
    id: u64,
    owner: Owner,
    r#type: &'static str,
}
struct Owner {
    names: (String, (u8, u8)),
}

type Answer = Result<(), LockError>;

#[distributed_lock(key = "nightly report")]
async fn constant() -> Answer {
    rival::refused("nightly report").await;
    Ok(())
}

#[distributed_lock(key = "a:<id>")]
async fn angles(id: u64) -> Answer {
    rival::refused("a:1").await;
    Ok(())
}

#[distributed_lock(key = "b:{id}")]
async fn braces(id: u64) -> Answer {
    rival::refused("b:1").await;
    Ok(())
}

#[distributed_lock(key = "<id>")]
async fn only(id: &str) -> Answer {
    rival::refused("x").await;
    Ok(())
}

#[distributed_lock(key = "<id>:{id}:<id>")]
async fn again(id: u64) -> Answer {
    rival::refused("1:1:1").await;
    Ok(())
}

#[distributed_lock(
    key = "<req.id>:<req.owner.names.0>:{req.owner.names.1.1}:<req.type>:<req.r#type>"
)]
async fn fields(req: &Request) -> Answer {
    rival::refused("1:n:3:t:t").await;
    Ok(())
}

#[distributed_lock(key = "a<<b>>c{{d}}")]
async fn escapes() -> Answer {
    rival::refused("a<b>c{d}").await;
    Ok(())
}

#[distributed_lock(key = r#"raw "<id>" \"#)]
async fn raw_string(id: u64) -> Answer {
    rival::refused(r#"raw "1" \"#).await;
    Ok(())
}

#[distributed_lock(key = "número:<ação>")]
async fn unicode(ação: &str) -> Answer {
    rival::refused("número:é").await;
    Ok(())
}

#[distributed_lock(key = "ref:<id>")]
async fn references(id: &&mut Box<u64>) -> Answer {
    rival::refused("ref:1").await;
    Ok(())
}

async fn case() -> Answer {
    constant().await?;
    angles(1).await?;
    braces(1).await?;
    only("x").await?;
    again(1).await?;
    let names = ("n".to_owned(), (2, 3));
    fields(&Request {
        id: 1,
        owner: Owner { names },
        r#type: "t",
    })
    .await?;
    escapes().await?;
    raw_string(1).await?;
    unicode("é").await?;
    references(&&mut Box::new(1)).await
}

fn main() {
    rival::run(case()).unwrap();
}

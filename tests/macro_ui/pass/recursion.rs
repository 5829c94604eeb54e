//! A locked function that calls itself, by its own `Box::pin`.

#[path = "../rival.rs"]
mod rival;

use lockruntime::{LockError, distributed_lock};

#[distributed_lock(key = "down:<n>")]
async fn down(n: u64) -> Result<u64, LockError> {
    rival::refused(&format!("down:{n}")).await;
    if n == 0 {
        return Ok(0);
    }
    Ok(1 + Box::pin(down(n - 1)).await?)
}

struct Tree(Vec<Tree>);

impl Tree {
    #[distributed_lock(key = "tree:<depth>")]
    async fn depth(&self, depth: u64) -> Result<u64, LockError> {
        rival::refused(&format!("tree:{depth}")).await;
        let mut deepest = depth;
        for child in &self.0 {
            deepest = deepest.max(Box::pin(child.depth(depth + 1)).await?);
        }
        Ok(deepest)
    }
}

fn main() {
    assert_eq!(rival::run(down(3)).unwrap(), 3);
    assert_eq!(
        rival::run(Tree(vec![Tree(vec![]), Tree(vec![Tree(vec![])])]).depth(0)).unwrap(),
        2
    );
}

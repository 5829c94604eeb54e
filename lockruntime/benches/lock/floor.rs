//! The floor: the two commands that any lock in Redis needs, on the same client library, and nothing else.

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Script};

const RELEASE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// `SET NX PX`, and an owner-checked delete by hash.
#[derive(Clone)]
pub(crate) struct Floor {
    connection: MultiplexedConnection,
    hash: String,
}

impl Floor {
    pub(crate) async fn connect(address: &str) -> Self {
        let client = redis::Client::open(format!("redis://{address}/?protocol=resp3"));
        let client = client.expect("the address is the kit's");
        let mut connection = client
            .get_multiplexed_async_connection()
            .await
            .expect("the server runs");
        let script = Script::new(RELEASE);
        let loaded: String = redis::cmd("SCRIPT")
            .arg("LOAD")
            .arg(RELEASE)
            .query_async(&mut connection)
            .await
            .expect("the server takes scripts");
        assert_eq!(loaded, script.get_hash());
        Self {
            connection,
            hash: loaded,
        }
    }

    pub(crate) async fn pair(&self, key: &str) {
        let token = format!("{:032x}", rand::random::<u128>());
        let mut connection = self.connection.clone();
        let mut take = Cmd::new();
        take.arg("SET")
            .arg(key)
            .arg(&token)
            .arg("NX")
            .arg("PX")
            .arg(30_000);
        let taken: Option<String> = take.query_async(&mut connection).await.expect("it is up");
        assert!(taken.is_some(), "{key} is nobody else's");
        let mut give = Cmd::new();
        give.arg("EVALSHA")
            .arg(&self.hash)
            .arg(1)
            .arg(key)
            .arg(&token);
        let gone: i32 = give.query_async(&mut connection).await.expect("it is up");
        assert_eq!(gone, 1);
    }
}

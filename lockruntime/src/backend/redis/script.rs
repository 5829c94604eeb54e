//! The verbs as scripts: called by hash, sent whole to a server that forgot them.

use redis::{Cmd, RedisError, ServerErrorKind, Value};

use super::connect::Link;

/// One script and its hash.
#[derive(Debug)]
pub(super) struct Script {
    text: &'static str,
    hash: String,
}

impl Script {
    pub(super) fn new(text: &'static str) -> Self {
        Self {
            text,
            hash: redis::Script::new(text).get_hash().to_owned(),
        }
    }

    /// Runs the script over `link`; `arguments` are added to the command after the keys. `asking`: the keys are on their way there.
    pub(super) async fn call(
        &self,
        link: &Link,
        asking: bool,
        keys: &[String],
        arguments: &[String],
    ) -> Result<Value, RedisError> {
        let by_hash = command("EVALSHA", self.hash.as_bytes(), keys, arguments);
        match send(link, asking, &by_hash).await {
            // a script that isn't there has not run: nothing can run twice
            Err(error) if error.kind() == ServerErrorKind::NoScript.into() => {
                send(link, asking, &self.whole(keys, arguments)).await
            }
            answer => answer,
        }
    }

    /// The command that needs no script on the server.
    pub(super) fn whole(&self, keys: &[String], arguments: &[String]) -> Cmd {
        command("EVAL", self.text.as_bytes(), keys, arguments)
    }
}

async fn send(link: &Link, asking: bool, command: &Cmd) -> Result<Value, RedisError> {
    #[cfg(feature = "cluster")]
    if asking {
        return link.send_asking(command).await;
    }
    #[cfg(not(feature = "cluster"))]
    let _ = asking;
    link.send(command).await
}

fn command(verb: &str, script: &[u8], keys: &[String], arguments: &[String]) -> Cmd {
    let mut command = redis::cmd(verb);
    command.arg(script).arg(keys.len()).arg(keys);
    command.arg(arguments);
    command
}

/// All verbs, of locks that are held alone.
#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) ask: Script,
    pub(super) renew: Script,
    pub(super) release: Script,
    pub(super) withdraw: Script,
    pub(super) snapshot: Script,
    pub(super) list: Script,
    pub(super) shared: SharedScripts,
}

/// The verbs of those who share a lock, and of those who meet them.
#[derive(Debug)]
pub(super) struct SharedScripts {
    pub(super) ask: Script,
    pub(super) renew: Script,
    pub(super) release: Script,
    pub(super) withdraw: Script,
}

macro_rules! script {
    ($($part:literal),*) => {
        Script::new(concat!($(include_str!(concat!("scripts/", $part, ".lua"))),*))
    };
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            ask: script!("prelude", "ask", "wait"),
            renew: script!("renew"),
            release: script!("prelude", "release"),
            withdraw: script!("prelude", "withdraw"),
            snapshot: script!("prelude", "snapshot"),
            list: script!("prelude", "list"),
            shared: SharedScripts {
                ask: script!("prelude", "shared/prelude", "shared/ask", "wait"),
                renew: script!("prelude", "shared/prelude", "shared/renew"),
                release: script!("prelude", "shared/prelude", "shared/release"),
                withdraw: script!("prelude", "shared/prelude", "shared/withdraw"),
            },
        }
    }
}

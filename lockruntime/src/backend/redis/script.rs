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

    /// Runs the script over `link`; `arguments` are added to the command after the keys.
    pub(super) async fn call(
        &self,
        link: &Link,
        keys: &[String],
        arguments: &[&[u8]],
    ) -> Result<Value, RedisError> {
        let answer = link
            .send(&command("EVALSHA", self.hash.as_bytes(), keys, arguments))
            .await;
        match answer {
            // a script that isn't there has not run: nothing can run twice
            Err(error) if error.kind() == ServerErrorKind::NoScript.into() => {
                link.send(&command("EVAL", self.text.as_bytes(), keys, arguments))
                    .await
            }
            answer => answer,
        }
    }
}

fn command(verb: &str, script: &[u8], keys: &[String], arguments: &[&[u8]]) -> Cmd {
    let mut command = redis::cmd(verb);
    command.arg(script).arg(keys.len()).arg(keys);
    for argument in arguments {
        command.arg(*argument);
    }
    command
}

/// All verbs.
#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) ask: Script,
    pub(super) renew: Script,
    pub(super) release: Script,
    pub(super) withdraw: Script,
    pub(super) snapshot: Script,
    pub(super) list: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            ask: Script::new(concat!(
                include_str!("scripts/prelude.lua"),
                include_str!("scripts/ask.lua")
            )),
            renew: Script::new(include_str!("scripts/renew.lua")),
            release: Script::new(concat!(
                include_str!("scripts/prelude.lua"),
                include_str!("scripts/release.lua")
            )),
            withdraw: Script::new(concat!(
                include_str!("scripts/prelude.lua"),
                include_str!("scripts/withdraw.lua")
            )),
            snapshot: Script::new(concat!(
                include_str!("scripts/prelude.lua"),
                include_str!("scripts/snapshot.lua")
            )),
            list: Script::new(concat!(
                include_str!("scripts/prelude.lua"),
                include_str!("scripts/list.lua")
            )),
        }
    }
}

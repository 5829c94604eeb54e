//! What a user must be allowed to do, and what it is not.
//!
//! A lock must never find out half-way that it may not be given back. So every new connection tries, in one script, each
//! command that the locks' scripts call, on keys that no lock has, before any lock is asked for.

use std::fmt;

use redis::{Cmd, RedisError, ServerErrorKind, Value};

use super::{keys, reply};

const SCRIPT: &str = include_str!("scripts/rights.lua");
/// The hash of no script: whoever may call scripts by hash is told that this one doesn't exist.
const NO_SCRIPT: &str = "0000000000000000000000000000000000000000";

/// The rights that are missing, by the server's own names: commands, `~pattern` for keys, `&pattern` for channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    rights: Vec<String>,
    prefix: String,
}

impl Missing {
    pub(super) fn rights(&self) -> &[String] {
        &self.rights
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the user has no right to {}; every lock needs {}",
            self.rights.join(" "),
            acl_line(&self.prefix)
        )
    }
}

/// What a look at the rights found.
#[derive(Debug)]
pub(super) struct Found {
    /// The server's clock in milliseconds; `None` when the user may not read it.
    pub(super) now: Option<u64>,
    /// What no lock can do without.
    pub(super) missing: Option<Missing>,
    /// The right without which hand-overs can't be announced.
    pub(super) unpublished: Option<String>,
    /// Writes are refused because the server is a replica.
    pub(super) replica: bool,
}

/// The two requests of the look, at the keys of a lock that nobody has: whether scripts may be called by hash, and the script.
pub(super) fn requests(record: &str, channel: &str) -> [Cmd; 2] {
    let probe = keys::of(record);
    let mut by_hash = redis::cmd("EVALSHA");
    // with a key, as the scripts have: what stands between may want one to find the server by
    by_hash.arg(NO_SCRIPT).arg(1).arg(&probe[..1]);
    let mut whole = redis::cmd("EVAL");
    whole.arg(SCRIPT).arg(probe.len()).arg(&probe[..]);
    whole.arg(channel).arg("a").arg(1).arg("b");
    [by_hash, whole]
}

/// What the server's answers to [`requests`] say. An error that isn't about rights stays one.
pub(super) fn found(
    channel: &str,
    by_hash: Result<Value, RedisError>,
    whole: Result<Value, RedisError>,
) -> Result<Found, RedisError> {
    let prefix = prefix_of(channel);
    let mut found = Found {
        now: None,
        missing: None,
        unpublished: None,
        replica: false,
    };
    let mut rights = Vec::new();
    match by_hash {
        Err(error) if reply::is_permission(&error) => {
            rights.push(call_right("+evalsha", &prefix, &error));
        }
        Err(error) if error.kind() == ServerErrorKind::NoScript.into() => {}
        Err(error) if reply::is_elsewhere(&error) => {}
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    match whole {
        Err(error) if reply::is_permission(&error) => {
            rights.push(call_right("+eval", &prefix, &error));
        }
        // these keys are another server's at this moment: what is missing is found when a lock is asked for
        Err(error) if reply::is_elsewhere(&error) => {}
        Err(error) => return Err(error),
        Ok(answer) => {
            let answered = reply::refusals(&answer).unwrap_or_default();
            found.now = answered.now;
            for (command, said) in answered.refused {
                let command = command.to_lowercase();
                match Refusal::of(&said) {
                    Some(_) if command == "publish" => {
                        found.unpublished = Some(channel_right("+publish", channel, &said));
                    }
                    Some(Refusal::Keys) => rights.push(keys_right(&prefix)),
                    Some(Refusal::Command) => rights.push(format!("+{command}")),
                    None => found.replica |= said.contains("READONLY"),
                }
            }
        }
    }
    rights.dedup();
    if !rights.is_empty() {
        found.missing = Some(Missing { rights, prefix });
    }
    Ok(found)
}

/// The right without which the call of a script is refused: to the command, or to its keys.
fn call_right(command: &str, prefix: &str, error: &RedisError) -> String {
    if names_keys(&error.to_string()) {
        keys_right(prefix)
    } else {
        command.to_owned()
    }
}

/// Why a command of a script was refused.
enum Refusal {
    Command,
    Keys,
}

impl Refusal {
    fn of(said: &str) -> Option<Self> {
        if !reply::names_a_right(said) {
            return None;
        }
        Some(if names_keys(said) {
            Self::Keys
        } else {
            Self::Command
        })
    }
}

fn names_keys(said: &str) -> bool {
    said.contains(" key")
}

/// The right that is missing for `command` on a channel, by what the server said: to the command, or to the channel.
pub(super) fn channel_right(command: &str, channel: &str, said: &str) -> String {
    if said.contains("channel") {
        wake_right(&prefix_of(channel))
    } else {
        command.to_owned()
    }
}

/// `lib_lock:app:env:` of `lib_lock_wake:app:env:<process>`.
pub(super) fn prefix_of(channel: &str) -> String {
    let names = channel
        .strip_prefix("lib_lock_wake:")
        .and_then(|rest| rest.rsplit_once(':'))
        .map_or("", |(names, _)| names);
    format!("lib_lock:{names}:")
}

fn keys_right(prefix: &str) -> String {
    format!("~{prefix}* ~lib_mutex_queue:{{{prefix}*")
}

fn wake_right(prefix: &str) -> String {
    format!("&lib_lock_wake:{}*", prefix.trim_start_matches("lib_lock:"))
}

/// What stands after the user's name and password in its ACL rule.
fn acl_line(prefix: &str) -> String {
    format!(
        "{} {} +eval +evalsha +time +exists +get +set +pttl +pexpire +del +zadd +zcard +zrange +zrank +zrem \
         +zscore +hset +hexists +hget +hmget +hdel +publish +subscribe",
        keys_right(prefix),
        wake_right(prefix)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANNEL: &str = "lib_lock_wake:app:prod:00ff";

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn look(refused: &[(&str, &str)]) -> Found {
        let mut answer = vec![bulk("1796000000"), bulk("5000")];
        for (command, said) in refused {
            answer.extend([bulk(command), bulk(said)]);
        }
        found(CHANNEL, Ok(Value::Nil), Ok(Value::Array(answer))).unwrap()
    }

    #[test]
    fn each_server_versions_words_are_understood() {
        let missing = |said| {
            look(&[("HSET", said)])
                .missing
                .map(|missing| missing.rights)
        };
        let keys = keys_right("lib_lock:app:prod:");
        for (said, right) in [
            (
                "ACL failure in script: User w has no permissions to run the 'hset' command",
                Some("+hset"),
            ),
            (
                "The user executing the script can't run this command or subcommand",
                Some("+hset"),
            ),
            (
                "The user executing the script can't access at least one of the keys mentioned in the command arguments",
                Some(&*keys),
            ),
            ("ERR wrong number of arguments for 'hset' command", None),
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                None,
            ),
        ] {
            assert_eq!(
                missing(said),
                right.map(|right| vec![right.to_owned()]),
                "{said}"
            );
        }
    }

    #[test]
    fn what_is_not_needed_is_not_missing() {
        let found = look(&[
            (
                "PUBLISH",
                "ACL failure in script: User w has no permissions to run the 'publish' command",
            ),
            (
                "SET",
                "READONLY You can't write against a read only replica.",
            ),
        ]);
        assert_eq!(found.missing, None);
        assert_eq!(found.unpublished.as_deref(), Some("+publish"));
        assert!(found.replica);
        assert_eq!(found.now, Some(1_796_000_000_005));
    }

    /// The page tells an operator the very line that the error tells.
    #[test]
    fn the_docs_have_the_line() {
        let line = acl_line("lib_lock:app:prod:");
        assert!(
            include_str!("../../docs/rights.md").contains(&line),
            "{line}"
        );
    }

    /// No script calls a command that isn't tried.
    #[test]
    fn every_command_of_every_script_is_tried() {
        let scripts = [
            include_str!("scripts/prelude.lua"),
            include_str!("scripts/ask.lua"),
            include_str!("scripts/wait.lua"),
            include_str!("scripts/renew.lua"),
            include_str!("scripts/touch.lua"),
            include_str!("scripts/release.lua"),
            include_str!("scripts/withdraw.lua"),
            include_str!("scripts/snapshot.lua"),
            include_str!("scripts/shared/prelude.lua"),
            include_str!("scripts/shared/ask.lua"),
            include_str!("scripts/shared/renew.lua"),
            include_str!("scripts/shared/release.lua"),
            include_str!("scripts/shared/withdraw.lua"),
        ];
        let mut calls = 0;
        for script in scripts {
            for call in script.split("call('").skip(1) {
                let command = call.split('\'').next().unwrap();
                assert!(
                    SCRIPT.contains(&format!("'{command}'")),
                    "{command} isn't tried"
                );
                assert!(
                    acl_line("lib_lock:a:b:").contains(&format!(" +{}", command.to_lowercase())),
                    "{command} isn't in the line"
                );
                calls += 1;
            }
        }
        assert!(calls > 30, "only {calls}");
    }
}

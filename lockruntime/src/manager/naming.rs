//! The names that stand on the server, and what a record says of this process.

use std::sync::Arc;

use crate::backend::Holder;
use crate::clock;
use crate::error::ConfigError;
use crate::key::LockKey;

/// What `app` and `env` are where nobody says: constants, since two programs of one system must exclude each other.
const DEFAULT_APP: &str = "app";
const DEFAULT_ENVIRONMENT: &str = "prod";

/// The prefix of all keys, and the constant fields of this process's records.
#[derive(Debug)]
pub(crate) struct Naming {
    prefix: String,
    pub(crate) channel: Arc<str>,
    host_name: String,
    process_name: String,
    process_id: u32,
}

impl Naming {
    pub(crate) fn new(app: Option<&str>, environment: Option<&str>) -> Result<Self, ConfigError> {
        let app = checked("app", app.unwrap_or(DEFAULT_APP))?;
        let environment = checked("environment", environment.unwrap_or(DEFAULT_ENVIRONMENT))?;
        let process_name = std::env::current_exe()
            .ok()
            .and_then(|path| {
                path.file_stem()
                    .map(|name| name.to_string_lossy().into_owned())
            })
            .unwrap_or_default();
        // random, since two hosts may give the same process id and one process may have several managers
        let process: u64 = rand::random();
        Ok(Self {
            prefix: format!("lib_lock:{app}:{environment}:"),
            channel: format!("lib_lock_wake:{app}:{environment}:{process:016x}").into(),
            host_name: plain(&gethostname::gethostname().to_string_lossy()),
            process_name,
            process_id: std::process::id(),
        })
    }

    /// What all records' keys begin with.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The record's whole key.
    pub(crate) fn record(&self, key: &LockKey) -> Arc<str> {
        format!("{}{key}", self.prefix).into()
    }

    pub(crate) fn holder(&self, name_of: &str) -> Holder {
        Holder {
            thread_id: task_number(),
            host_name: self.host_name.clone(),
            process_name: self.process_name.clone(),
            process_id: self.process_id,
            name_of: name_of.to_owned(),
            created: clock::wall_clock(),
        }
    }
}

/// The number of the running tokio task, 0 outside of one.
fn task_number() -> u64 {
    tokio::task::try_id()
        .and_then(|id| id.to_string().parse().ok())
        .unwrap_or(0)
}

fn checked<'a>(what: &str, name: &'a str) -> Result<&'a str, ConfigError> {
    let fits = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if fits {
        Ok(name)
    } else {
        Err(ConfigError::new(format!(
            "the {what} {name:?} may only have letters, digits, '.', '_' and '-', at least one"
        )))
    }
}

/// A host name as part of a ticket's name: without its separator.
fn plain(host: &str) -> String {
    host.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
                c
            } else {
                '_'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_named_by_the_founding_standard() {
        let naming = Naming::new(Some("App"), Some("Env")).unwrap();
        let key = LockKey::from_text("Boleto-11111", 512).unwrap();
        assert_eq!(&*naming.record(&key), "lib_lock:App:Env:Boleto-11111");
        assert!(naming.channel.starts_with("lib_lock_wake:App:Env:"));
        assert_ne!(
            naming.channel,
            Naming::new(Some("App"), Some("Env")).unwrap().channel
        );
    }

    #[test]
    fn odd_application_names_are_refused() {
        for name in ["", "a:b", "a b", "{a}", "ção"] {
            assert!(Naming::new(Some(name), None).is_err(), "{name}");
            assert!(Naming::new(None, Some(name)).is_err(), "{name}");
        }
    }
}

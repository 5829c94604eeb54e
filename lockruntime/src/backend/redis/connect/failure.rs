//! Why there is no connection.

use redis::RedisError;

use crate::backend::redis::reply;
use crate::backend::redis::rights::Missing;
use crate::backend::{BackendError, BackendErrorKind};

/// Why the latest try gave no connection.
#[derive(Clone, Debug)]
pub(in crate::backend::redis) enum Failure {
    /// No answer in time, perhaps to a handshake.
    Silent { tls: bool },
    /// What the client library or the server said.
    Redis(RedisError),
    /// The handshake failed.
    #[cfg(feature = "tls")]
    Tls(String),
    /// The user may connect, and may not do what every lock needs.
    Rights(Missing),
    /// The server that should be the master isn't: perhaps not yet.
    Replica,
    /// No sentinel answered; what the last one's failure was.
    #[cfg(feature = "sentinel")]
    NoSentinel(Option<RedisError>),
    /// The sentinels know no master of this name.
    #[cfg(feature = "sentinel")]
    UnknownMaster,
}

impl Failure {
    pub(in crate::backend::redis) fn into_error(self, address: &str) -> BackendError {
        match self {
            Self::Silent { tls } => {
                let (how, what) = if tls {
                    (" over TLS", ", that it speaks TLS there,")
                } else {
                    ("", "")
                };
                BackendError::new(
                    BackendErrorKind::Unreachable,
                    format!(
                        "Redis at {address} doesn't answer to a new connection{how}; check the address{what} and the network between"
                    ),
                )
            }
            Self::Redis(error) => reply::failed(address, error),
            #[cfg(feature = "tls")]
            Self::Tls(said) => reply::tls(address, &said),
            Self::Replica => BackendError::new(
                BackendErrorKind::NotReady,
                format!(
                    "{address} has no master at this moment; a failover is under way, or its replicas can't be promoted"
                ),
            ),
            #[cfg(feature = "sentinel")]
            Self::NoSentinel(Some(error)) if reply::is_permission(&error) => BackendError::new(
                BackendErrorKind::Permission,
                format!(
                    "the sentinels of {address} refused user, password or a right ({error}); check sentinel_user and sentinel_password in \
                     the URL"
                ),
            ),
            #[cfg(feature = "sentinel")]
            Self::NoSentinel(_) => BackendError::new(
                BackendErrorKind::Unreachable,
                format!(
                    "no sentinel of {address} answers; check the addresses and that they are running"
                ),
            ),
            #[cfg(feature = "sentinel")]
            Self::UnknownMaster => BackendError::new(
                BackendErrorKind::Unreachable,
                format!(
                    "the sentinels of {address} know no master of this name; check the URL's path"
                ),
            ),
            Self::Rights(missing) => BackendError::new(
                BackendErrorKind::Permission,
                format!("Redis at {address}: {missing}"),
            ),
        }
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}

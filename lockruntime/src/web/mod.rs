//! What a refused call answers over HTTP, for axum (feature `axum`) and actix-web (feature `actix`).
//!
//! An annotated handler needs nothing else: [`LockError`] is a response of both frameworks, so `Result<T, LockError>` works as
//! it stands, and so does any error type with `From<LockError>`. Handlers that return a plain response answer with it, too.
//!
//! | Handler returns | axum | actix-web |
//! |---|---|---|
//! | `Result<T, LockError>`, `T` an `impl Trait` included | yes | yes |
//! | `Result<T, E>`, `E: From<LockError>` | yes; `StatusCode`, `(StatusCode, String)`, `Response` and `ErrorResponse` are such | yes; `actix_web::Error` is one |
//! | a response | `Response`, `StatusCode`, `(StatusCode, String)` | `HttpResponse` |
//! | `impl` of the framework's trait | `impl IntoResponse` | `impl Responder` |
//! | anything else | with `or_else` | with `or_else` |
//!
//! [`WithManager`] gives the handlers of an application their manager; without it they find the process's default.
//!
//! | Refusal | Status | The body |
//! |---|---|---|
//! | [`Busy`](LockError::Busy) | 409, with `Retry-After` where the holder's remaining lease is known | didn't run |
//! | [`WaitTimedOut`](LockError::WaitTimedOut), [`ShuttingDown`](LockError::ShuttingDown), [`Backend`](LockError::Backend) | 503 | didn't run |
//! | [`Lost`](LockError::Lost) | 503 | was stopped half-way: look before repeating it |
//! | [`HoldCapReached`](LockError::HoldCapReached) | 504 | was stopped half-way: look before repeating it |
//! | [`InvalidKey`](LockError::InvalidKey) | 422 | didn't run |
//! | everything else: permission, configuration | 500 | didn't run |
//!
//! The content is a problem of RFC 9457 (`application/problem+json`) whose `type` tells the refusals apart. It names nothing
//! about the storage, and the key only where [`Redact::in_problems`](crate::Redact::in_problems) asks for it, as `lock`. What really happened stays on the server's side of the response: axum finds an
//! `Arc<LockError>` in the response's extensions, actix-web finds the error in `HttpResponse::error`.
//!
//! # When the client goes away
//!
//! A handler that is dropped gives up its place in the queue, or its lock, at once. axum drops the handler when the client
//! closes the connection. **actix-web keeps it running** after a plain close, as the client may still read the answer: the
//! lock is then held, or waited for, on behalf of nobody. Turn that off where the server is built, with
//! `HttpServer::new(…).h1_allow_half_closed(false)`.

#[cfg(feature = "actix")]
mod actix;
#[cfg(feature = "axum")]
mod axum;
#[cfg(feature = "dashboard")]
mod dashboard;
mod scope;

#[cfg(feature = "dashboard")]
pub use dashboard::Dashboard;
pub use scope::{Scoped, ScopedService, WithManager};

use std::time::Duration;

use crate::error::LockError;
use crate::key::LockKey;

/// The content type of every answer.
const PROBLEM_JSON: &str = "application/problem+json";

/// The one status policy: what a client may know of a refusal.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    status: u16,
    /// Ends the problem's `type`: clients tell refusals apart by it, so it never changes.
    name: &'static str,
    title: &'static str,
    detail: &'static str,
    /// Whole seconds.
    retry_after: Option<u64>,
}

impl Refusal {
    fn of(error: &LockError) -> Self {
        match error {
            LockError::Busy { remaining, .. } => Self {
                status: 409,
                name: "lock-busy",
                title: "Busy",
                detail: "Another request is doing this at the moment. Nothing was done; try again later.",
                retry_after: remaining.map(seconds_up),
            },
            LockError::WaitTimedOut { .. } => Self {
                status: 503,
                name: "lock-wait-timed-out",
                title: "Wait timed out",
                detail: "Other requests were before this one for too long. Nothing was done; try again later.",
                retry_after: None,
            },
            LockError::Lost { .. } => Self {
                status: 503,
                name: "lock-lost",
                title: "Lock lost",
                detail: "This request was stopped half-way. Look at what was done before trying again.",
                retry_after: None,
            },
            LockError::HoldCapReached { .. } => Self {
                status: 504,
                name: "lock-hold-cap-reached",
                title: "Took too long",
                detail: "This request took longer than it may and was stopped half-way. Look at what was done before trying again.",
                retry_after: None,
            },
            LockError::ShuttingDown { .. } => Self {
                status: 503,
                name: "lock-shutting-down",
                title: "Shutting down",
                detail: "The service is shutting down. Nothing was done; try again.",
                retry_after: None,
            },
            LockError::Backend { .. }
            | LockError::NoQuorum { .. }
            | LockError::NotReplicated { .. } => Self {
                status: 503,
                name: "lock-unavailable",
                title: "Lock unavailable",
                detail: "The lock for this could not be had. Nothing was done; try again later.",
                retry_after: None,
            },
            LockError::InvalidKey { .. } => Self {
                status: 422,
                name: "lock-invalid-key",
                title: "Invalid key",
                detail: "A value that says what to work on is empty or can't be used. Nothing was done.",
                retry_after: None,
            },
            LockError::InvalidLease { .. }
            | LockError::NotConfigured { .. }
            | LockError::Permission { .. }
            | LockError::SelfDeadlock { .. }
            | LockError::PermitsDiffer { .. }
            | LockError::InvalidPermits { .. }
            | LockError::Unsupported { .. } => Self {
                status: 500,
                name: "lock-misconfigured",
                title: "Internal server error",
                detail: "The service is not set up for this. Nothing was done.",
                retry_after: None,
            },
        }
    }

    /// The answer's content. Written by hand: every text is a constant that needs no escaping, as a test checks; but for the key,
    /// where it is asked for.
    fn problem(&self, error: &LockError) -> String {
        let Self {
            status,
            name,
            title,
            detail,
            ..
        } = self;
        let key = error.filled_key().and_then(LockKey::in_problems);
        let lock = key.map(|key| format!(r#","lock":"{}""#, escaped(key)));
        let lock = lock.unwrap_or_default();
        format!(
            r#"{{"type":"urn:problem-type:{name}","title":"{title}","status":{status},"detail":"{detail}"{lock}}}"#
        )
    }
}

/// Whole seconds, rounded up, at least one: a client that is told to come back in 0 seconds is refused again.
/// Text inside of a JSON string. Keys have no control characters: those are escaped as in a URL.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn seconds_up(time: Duration) -> u64 {
    (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{BackendError, BackendErrorKind, LossReason};
    use crate::options::Mode;
    use crate::telemetry::Redact;

    /// One of every refusal, each full of what must not be answered.
    pub(super) fn every_error() -> Vec<(LockError, u16)> {
        let key = || LockKey::from_text("boleto:confidential", 512).unwrap();
        let template = || "boleto:<confidential>".to_owned();
        let source = |kind| {
            BackendError::new(kind, "redis://confidential:6379 is out of reach")
                .with_source("confidential")
        };
        let mode = Mode::Queue;
        let second = Duration::from_secs(1);
        vec![
            (
                LockError::Busy {
                    key: key(),
                    mode,
                    remaining: Some(second),
                    waiting: None,
                },
                409,
            ),
            (
                LockError::HoldCapReached {
                    key: key(),
                    mode,
                    cap: second,
                },
                504,
            ),
            (
                LockError::WaitTimedOut {
                    key: key(),
                    mode,
                    waited: second,
                    rank: Some(7),
                },
                503,
            ),
            (
                LockError::Lost {
                    key: key(),
                    mode,
                    reason: LossReason::Taken,
                },
                503,
            ),
            (LockError::ShuttingDown { key: key(), mode }, 503),
            (
                LockError::Backend {
                    key: key(),
                    mode,
                    source: source(BackendErrorKind::Unreachable),
                },
                503,
            ),
            (
                LockError::InvalidKey {
                    template: template(),
                    mode,
                    reason: "confidential".to_owned(),
                },
                422,
            ),
            (
                LockError::InvalidLease {
                    key: key(),
                    mode,
                    what: "lease",
                    lease: second,
                    longest: second,
                },
                500,
            ),
            (
                LockError::NotConfigured {
                    template: template(),
                    mode,
                },
                500,
            ),
            (
                LockError::Permission {
                    key: key(),
                    mode,
                    source: source(BackendErrorKind::Permission),
                },
                500,
            ),
            (
                LockError::Unsupported {
                    key: key(),
                    mode,
                    what: "confidential",
                },
                500,
            ),
        ]
    }

    pub(super) fn busy(remaining: Option<Duration>) -> LockError {
        LockError::Busy {
            key: LockKey::from_text("boleto:42", 512).unwrap(),
            mode: Mode::Reject,
            remaining,
            waiting: None,
        }
    }

    /// Checks an answer's content against its status.
    pub(super) fn assert_problem(content: &[u8], status: u16) {
        let problem: serde_json::Value = serde_json::from_slice(content).unwrap();
        assert_eq!(problem["status"], status, "{problem}");
        let name = problem["type"]
            .as_str()
            .unwrap()
            .strip_prefix("urn:problem-type:lock-")
            .unwrap();
        assert!(
            name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
            "{problem}"
        );
        assert!(!problem["title"].as_str().unwrap().is_empty(), "{problem}");
        assert!(!problem["detail"].as_str().unwrap().is_empty(), "{problem}");
        assert_eq!(problem.as_object().unwrap().len(), 4, "{problem}");
        assert!(!problem.to_string().contains("confidential"), "{problem}");
    }

    #[test]
    fn every_refusal_has_its_status_and_a_problem_without_internals() {
        for (error, status) in every_error() {
            let refusal = Refusal::of(&error);
            assert_eq!(refusal.status, status, "{error}");
            assert_problem(refusal.problem(&error).as_bytes(), status);
        }
    }

    #[test]
    fn a_problem_names_the_key_where_it_is_asked_for_as_it_may_be_shown() {
        let lock = |redact: Redact| {
            let key = LockKey::from_text("boleto:\"42\\", 512).unwrap();
            let error = LockError::ShuttingDown {
                key: key.redact(redact, "boleto:<id>"),
                mode: Mode::Queue,
            };
            let problem = Refusal::of(&error).problem(&error);
            serde_json::from_str::<serde_json::Value>(&problem).unwrap()["lock"].take()
        };
        assert!(lock(Redact::NOTHING).is_null());
        assert!(lock(Redact::HASH).is_null());
        assert_eq!(lock(Redact::NOTHING.in_problems()), "boleto:\"42\\");
        assert_eq!(lock(Redact::VALUES.in_problems()), "boleto:<id>");
    }

    #[test]
    fn retry_after_is_whole_seconds_rounded_up() {
        let after = |remaining| Refusal::of(&busy(remaining)).retry_after;
        assert_eq!(after(None), None);
        assert_eq!(after(Some(Duration::ZERO)), Some(1));
        assert_eq!(after(Some(Duration::from_millis(1))), Some(1));
        assert_eq!(after(Some(Duration::from_secs(30))), Some(30));
        assert_eq!(after(Some(Duration::from_millis(29_001))), Some(30));
    }
}

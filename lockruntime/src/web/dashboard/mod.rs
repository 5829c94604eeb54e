//! A page that shows holds and queues live, as an axum router of its own.

mod seen;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::stream::{self, Stream};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::backend::Released;
use crate::clock;
use crate::manager::LockManager;
use crate::report;
use crate::token::OwnerToken;
use seen::Seen;

/// How often an open page hears of the locks.
const EVERY: Duration = Duration::from_secs(1);
/// Nothing comes from elsewhere, and nobody frames the page.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A page that shows the locks of a manager's storage live: who holds them, who waits, what looks lost or stuck first.
///
/// It shows keys as they are, and asks nobody who looks: put it behind whatever guards your other pages for operators. It reads only,
/// unless [`allow_release`](Self::allow_release) says otherwise. However many pages are open, the storage is asked once a second,
/// and not at all when none is. Let your server answer to its own names alone (`Host`): else a page from elsewhere, whose name resolves
/// to your address, can read this one through a visitor's browser. `lockctl serve` does.
///
/// ```
/// # fn router(locks: lockruntime::LockManager) -> axum::Router {
/// use lockruntime::web::Dashboard;
///
/// axum::Router::new().nest("/admin/locks", Dashboard::new(locks).into_router())
/// # }
/// # drop(router(lockruntime::LockManager::memory()));
/// ```
#[derive(Clone, Debug)]
#[must_use = "call into_router"]
pub struct Dashboard {
    locks: LockManager,
    may_release: bool,
}

#[derive(Debug)]
struct Shared {
    locks: LockManager,
    may_release: bool,
    seen: tokio::sync::Mutex<Seen>,
}

impl Dashboard {
    /// Of the locks of this manager's `app` and `environment`, whoever holds them.
    pub fn new(locks: LockManager) -> Self {
        Self {
            locks,
            may_release: false,
        }
    }

    /// Lets the page take a lock from its holder, as [`LockManager::evict`] does: whoever reaches the page may.
    pub fn allow_release(mut self) -> Self {
        self.may_release = true;
        self
    }

    /// The page, at `/` of this router, to be served or nested.
    pub fn into_router(self) -> Router {
        let Self { locks, may_release } = self;
        let shared = Arc::new(Shared {
            locks,
            may_release,
            seen: tokio::sync::Mutex::default(),
        });
        Router::new()
            .route("/", get(page))
            .route("/live", get(live))
            .route("/lock", get(lock))
            .route("/release", post(release))
            .with_state(shared)
    }
}

async fn page() -> Response {
    let mut response = Html(include_str!("page.html")).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    response
}

/// All locks, now and every second.
async fn live(
    State(shared): State<Arc<Shared>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let looks = stream::unfold((shared, false), |(shared, again)| async move {
        if again {
            clock::sleep(EVERY).await;
        }
        let told = shared.look().await;
        Some((Ok(Event::default().data(told.to_string())), (shared, true)))
    });
    Sse::new(looks).keep_alive(KeepAlive::default())
}

impl Shared {
    /// What the page is told. Of several pages one asks, the others are told the same.
    async fn look(&self) -> Arc<Value> {
        let mut seen = self.seen.lock().await;
        if let Some(told) = seen.fresh(EVERY / 2) {
            return told;
        }
        let told = match self.locks.list("*").await {
            Ok(listed) => {
                // what isn't seen has not ended
                if listed.gaps.is_empty() {
                    seen.note(&listed.locks);
                }
                let stuck = self.locks.warn_after();
                let mut told = report::list(&listed);
                let more = json!({
                    "ended": seen.ended(),
                    "lost": seen.lost(),
                    "stuckMs": u64::try_from(stuck.as_millis()).unwrap_or(u64::MAX),
                    "mayRelease": self.may_release,
                });
                if let (Value::Object(told), Value::Object(more)) = (&mut told, more) {
                    told.extend(more);
                }
                told
            }
            Err(error) => json!({ "error": error.to_string() }),
        };
        seen.told(told)
    }
}

#[derive(Deserialize)]
struct Which {
    key: String,
}

/// One lock with its queue.
async fn lock(State(shared): State<Arc<Shared>>, Query(Which { key }): Query<Which>) -> Response {
    match shared.locks.snapshot(&key).await {
        Ok(snapshot) => Json(report::snapshot(&key, &snapshot)).into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

#[derive(Deserialize)]
struct Release {
    key: String,
    owner: String,
}

/// Whether a browser says that another site asks.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    site.is_some_and(|site| site != "same-origin" && site != "none")
}

/// Takes a lock from its holder. JSON is what no page from elsewhere may send unasked.
async fn release(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Json(Release { key, owner }): Json<Release>,
) -> Response {
    if !shared.may_release {
        let says = "this page reads only; start it with leave to release";
        return (StatusCode::FORBIDDEN, says).into_response();
    }
    if is_from_elsewhere(&headers) {
        return (StatusCode::FORBIDDEN, "only this page itself may release").into_response();
    }
    let Some(owner) = OwnerToken::parse(&owner) else {
        return (StatusCode::BAD_REQUEST, "not an owner token").into_response();
    };
    match shared.locks.evict_owner(&key, owner).await {
        Ok((_, Released::NotHeld)) => {
            let says = "changed meanwhile: it is no longer this owner's; nothing was done";
            (StatusCode::CONFLICT, says).into_response()
        }
        Ok(_) => "released".into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

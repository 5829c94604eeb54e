//! Every form of axum handler that the attribute takes.

use std::net::{Ipv4Addr, SocketAddr};

use ::axum::extract::{Json, Request, State};
use ::axum::http::StatusCode;
use ::axum::middleware::{Next, from_fn};
use ::axum::response::{ErrorResponse, Html, IntoResponse, Response};
use ::axum::routing::post;
use ::axum::{Router, debug_handler};
use lockruntime::web::WithManager;
use lockruntime::{LockError, LockManager, distributed_lock};
use tests::rival::{Rival, refused};
use tokio::net::TcpListener;

use crate::forms::{AppError, ask};

#[derive(serde::Deserialize)]
struct Order {
    amount: u64,
}

#[derive(Clone)]
struct App {
    locks: LockManager,
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        StatusCode::from_u16(self.0).expect("valid").into_response()
    }
}

/// The work of every handler.
async fn work(key: &str) -> String {
    refused(key).await;
    format!("{key} is done")
}

#[distributed_lock(key = "response", mode = "reject")]
async fn response() -> Response {
    work("response").await.into_response()
}

/// A status alone has no content, so this one tells with its status that it ran.
#[distributed_lock(key = "status", mode = "reject")]
async fn status() -> StatusCode {
    work("status").await;
    StatusCode::ACCEPTED
}

#[distributed_lock(key = "pair", mode = "reject")]
async fn pair() -> (StatusCode, String) {
    (StatusCode::OK, work("pair").await)
}

#[distributed_lock(key = "opaque", mode = "reject")]
async fn opaque() -> impl IntoResponse {
    work("opaque").await
}

#[distributed_lock(key = "opaque_path", mode = "reject")]
async fn opaque_path(json: Json<Order>) -> impl ::axum::response::IntoResponse + use<> {
    if json.amount == 0 {
        return Html(String::new());
    }
    Html(work("opaque_path").await)
}

#[distributed_lock(key = "opaque_in_result", mode = "reject")]
async fn opaque_in_result() -> Result<impl IntoResponse, LockError> {
    Ok(work("opaque_in_result").await)
}

#[distributed_lock(key = "opaque_and_status", mode = "reject")]
async fn opaque_and_status() -> Result<impl IntoResponse + use<>, StatusCode> {
    let text = work("opaque_and_status").await;
    if text.is_empty() {
        return Err(StatusCode::NO_CONTENT);
    }
    Ok(text)
}

#[distributed_lock(key = "own_error", mode = "reject")]
async fn own_error() -> Result<String, AppError> {
    Ok(work("own_error").await)
}

#[distributed_lock(key = "error_response", mode = "reject")]
async fn error_response() -> ::axum::response::Result<String> {
    let text = work("error_response").await;
    if text.is_empty() {
        Err((StatusCode::BAD_REQUEST, "empty"))?;
    }
    Ok::<_, ErrorResponse>(text)
}

#[distributed_lock(key = "or_else", mode = "reject", or_else = |error: LockError| Html(error.to_string()))]
async fn with_or_else() -> Html<String> {
    Html(work("or_else").await)
}

#[debug_handler(state = App)]
#[distributed_lock(key = "debug_above", mode = "reject")]
async fn debug_above(
    State(mut app): State<App>,
    Json(Order { amount, .. }): Json<Order>,
) -> Result<String, LockError> {
    app.locks = LockManager::memory();
    assert_eq!(amount, 5);
    Ok(work("debug_above").await)
}

#[distributed_lock(key = "debug_<name>", mode = "reject")]
#[debug_handler(state = App)]
async fn debug_below(
    State(_): State<App>,
    Json(Order { amount: name, .. }): Json<Order>,
) -> Result<String, LockError> {
    assert_eq!(name, 5);
    Ok(work("debug_5").await)
}

#[debug_handler(state = App)]
#[distributed_lock(key = "debug_opaque", mode = "reject")]
async fn debug_opaque(request: Request) -> impl IntoResponse {
    drop(request);
    work("debug_opaque").await
}

/// No layer is asked: the state knows the manager.
#[distributed_lock(key = "from_state", mode = "reject", manager = app.locks)]
async fn from_state(State(app): State<App>) -> Result<String, LockError> {
    Ok(work("from_state").await)
}

#[distributed_lock(key = "generic", mode = "reject")]
async fn generic<T: Send + 'static>(State(_state): State<T>) -> Result<String, LockError> {
    Ok(work("generic").await)
}

async fn serve(rival: &Rival) -> SocketAddr {
    let state = App {
        locks: rival.locks().clone(),
    };
    let layered = Router::new()
        .route("/response", post(response))
        .route("/status", post(status))
        .route("/pair", post(pair))
        .route("/opaque", post(opaque))
        .route("/opaque_path", post(opaque_path))
        .route("/opaque_in_result", post(opaque_in_result))
        .route("/opaque_and_status", post(opaque_and_status))
        .route("/own_error", post(own_error))
        .route("/error_response", post(error_response))
        .route("/or_else", post(with_or_else))
        .route("/debug_above", post(debug_above))
        .route("/debug_5", post(debug_below))
        .route("/debug_opaque", post(debug_opaque))
        .route("/generic", post(generic::<App>))
        .layer(WithManager::new(rival.locks().clone()));
    let rival = rival.clone();
    let router = Router::new()
        .route("/from_state", post(from_state))
        .merge(layered)
        .layer(from_fn(move |request: Request, next: Next| {
            rival.clone().scope(next.run(request))
        }))
        .with_state(state);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .expect("loopback has a free port");
    let address = listener.local_addr().expect("a bound socket");
    tokio::spawn(async { ::axum::serve(listener, router).await });
    address
}

macro_rules! forms {
    ($($form:ident)*) => {$(
        #[tokio::test]
        async fn $form() {
            let rival = Rival::new();
            ask(&rival, serve(&rival).await, stringify!($form)).await;
        }
    )*};
}

mod form {
    use super::{Rival, ask, serve};

    forms! {
        response pair opaque opaque_path opaque_in_result opaque_and_status own_error error_response
        debug_above debug_5 debug_opaque from_state generic
    }
}

mod answers {
    use super::{Rival, serve};
    use crate::client::Outcome;
    use crate::site::post;

    #[tokio::test]
    async fn status() {
        let rival = Rival::new();
        let address = serve(&rival).await;
        post(address, "/status", "").await.expect(202).await;
        assert_eq!(rival.refusals(), 1);
        let taken = rival
            .locks()
            .lock("status")
            .try_acquire()
            .await
            .expect("given back");
        let refused = post(address, "/status", "").await.expect(409).await;
        assert_eq!(refused.content, "");
        drop(taken);
    }

    #[tokio::test]
    async fn or_else() {
        let rival = Rival::new();
        let address = serve(&rival).await;
        let free = post(address, "/or_else", "").await.expect(200).await;
        assert_eq!(free.content, "or_else is done");
        let taken = rival
            .locks()
            .lock("or_else")
            .try_acquire()
            .await
            .expect("given back");
        let refused = post(address, "/or_else", "").await.expect(200).await;
        assert!(refused.content.contains("is busy"), "{refused:?}");
        assert_eq!(rival.refusals(), 1);
        drop(taken);
    }

    /// An opaque response is refused as the concrete ones are.
    #[tokio::test]
    async fn problems() {
        let rival = Rival::new();
        let address = serve(&rival).await;
        for form in ["response", "opaque", "opaque_in_result"] {
            let taken = rival.locks().lock(form).try_acquire().await.expect("free");
            let call = post(address, &format!("/{form}"), "").await;
            let refused = call.expect_problem(409, "lock-busy").await;
            assert!(refused.header("retry-after").is_some());
            drop(taken);
        }
    }

    /// Two applications of one process, each with a manager of its own: their locks are two.
    #[tokio::test]
    async fn each_application_has_its_manager() {
        let (here, there) = (Rival::new(), Rival::new());
        let (one, other) = (serve(&here).await, serve(&there).await);
        let taken = here
            .locks()
            .lock("response")
            .try_acquire()
            .await
            .expect("free");
        post(one, "/response", "").await.expect(409).await;
        post(other, "/response", "").await.expect(200).await;
        drop(taken);
    }
}

//! Every form of actix-web handler that the attribute takes.

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;

use actix_web::dev::Service;
use actix_web::http::StatusCode;
use actix_web::web::{self, Data, Json};
use actix_web::{
    App, Either, HttpRequest, HttpResponse, HttpServer, Responder, ResponseError, post, route,
    routes,
};
use lockruntime::web::WithManager;
use lockruntime::{LockError, LockManager, distributed_lock};
use tests::rival::{Rival, refused};

use crate::forms::{AppError, ask};

#[derive(serde::Deserialize)]
struct Order {
    amount: u64,
}

impl ResponseError for AppError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.0).expect("valid")
    }
}

/// The work of every handler.
async fn work(key: &str) -> String {
    refused(key).await;
    format!("{key} is done")
}

#[post("/response")]
#[distributed_lock(key = "response", mode = "reject")]
async fn response() -> HttpResponse {
    HttpResponse::Ok().body(work("response").await)
}

#[post("/opaque")]
#[distributed_lock(key = "opaque", mode = "reject")]
async fn opaque() -> impl Responder {
    work("opaque").await
}

#[post("/opaque_path")]
#[distributed_lock(key = "opaque_path", mode = "reject")]
async fn opaque_path(order: Json<Order>) -> impl actix_web::Responder {
    if order.amount == 0 {
        return Either::Left(HttpResponse::NoContent());
    }
    Either::Right(work("opaque_path").await)
}

#[post("/result")]
#[distributed_lock(key = "result", mode = "reject")]
async fn result() -> actix_web::Result<HttpResponse> {
    Ok(HttpResponse::Ok().body(work("result").await))
}

#[post("/opaque_in_result")]
#[distributed_lock(key = "opaque_in_result", mode = "reject")]
async fn opaque_in_result() -> actix_web::Result<impl Responder> {
    Ok(work("opaque_in_result").await)
}

#[post("/lock_error")]
#[distributed_lock(key = "lock_error", mode = "reject")]
async fn lock_error() -> Result<String, LockError> {
    Ok(work("lock_error").await)
}

#[post("/own_error")]
#[distributed_lock(key = "own_error", mode = "reject")]
async fn own_error() -> Result<impl Responder, AppError> {
    Ok(work("own_error").await)
}

/// The lock above the route: it leaves the pattern in the signature for it.
#[distributed_lock(key = "lock_above_<amount>", mode = "reject")]
#[post("/lock_above_5")]
async fn lock_above(Json(Order { amount }): Json<Order>) -> Result<String, LockError> {
    Ok(work(&format!("lock_above_{amount}")).await)
}

#[route("/any_method", method = "GET", method = "POST")]
#[distributed_lock(key = "any_method", mode = "reject")]
async fn any_method() -> Result<String, LockError> {
    Ok(work("any_method").await)
}

#[routes]
#[post("/two_routes")]
#[post("/other_route")]
#[distributed_lock(key = "two_routes", mode = "reject")]
async fn two_routes() -> Result<String, LockError> {
    Ok(work("two_routes").await)
}

/// Neither the request nor the counter is `Send`, and both live over the await.
#[post("/not_send")]
#[distributed_lock(key = "not_send", mode = "reject")]
async fn not_send(request: HttpRequest) -> Result<String, LockError> {
    let counter = Rc::new(());
    let text = work("not_send").await;
    assert_eq!(
        (request.path(), Rc::strong_count(&counter)),
        ("/not_send", 1)
    );
    Ok(text)
}

#[post("/tenant/{path}")]
#[distributed_lock(key = "tenant/<path>", mode = "reject")]
async fn in_path(path: web::Path<String>) -> Result<String, LockError> {
    Ok(work(&format!("tenant/{path}")).await)
}

/// No middleware is asked: the application's data is the manager.
#[post("/from_data")]
#[distributed_lock(key = "from_data", mode = "reject", manager = locks)]
async fn from_data(locks: Data<LockManager>) -> Result<String, LockError> {
    Ok(work("from_data").await)
}

/// A plain function as a handler, without a route attribute.
#[distributed_lock(key = "plain", mode = "reject")]
async fn plain() -> HttpResponse {
    HttpResponse::Ok().body(work("plain").await)
}

fn serve(rival: &Rival) -> SocketAddr {
    let rival = rival.clone();
    let server = HttpServer::new(move || {
        let scope = web::scope("")
            .wrap(WithManager::new(rival.locks().clone()))
            .service(response)
            .service(opaque)
            .service(opaque_path)
            .service(result)
            .service(opaque_in_result)
            .service(lock_error)
            .service(own_error)
            .service(lock_above)
            .service(any_method)
            .service(two_routes)
            .service(not_send)
            .service(in_path)
            .route("/plain", web::post().to(plain));
        let rival = rival.clone();
        App::new()
            .app_data(Data::new(rival.locks().clone()))
            .service(from_data)
            .service(scope)
            .wrap_fn(move |request, service| rival.clone().scope(service.call(request)))
    });
    let server = server
        .workers(1)
        .disable_signals()
        .bind((Ipv4Addr::LOCALHOST, 0))
        .expect("loopback has a free port");
    let address = *server.addrs().first().expect("a bound socket");
    tokio::spawn(server.run());
    address
}

macro_rules! forms {
    ($($form:ident: $key:literal)*) => {$(
        #[tokio::test]
        async fn $form() {
            let rival = Rival::new();
            ask(&rival, serve(&rival), $key).await;
        }
    )*};
}

mod form {
    use super::{Rival, ask, serve};

    forms! {
        response: "response"
        opaque: "opaque"
        opaque_path: "opaque_path"
        result: "result"
        opaque_in_result: "opaque_in_result"
        lock_error: "lock_error"
        own_error: "own_error"
        lock_above: "lock_above_5"
        any_method: "any_method"
        two_routes: "two_routes"
        not_send: "not_send"
        in_path: "tenant/acme"
        from_data: "from_data"
        plain: "plain"
    }
}

mod answers {
    use super::{Rival, serve};
    use crate::client::Outcome;
    use crate::site::post;

    /// An opaque response is refused as the concrete ones are.
    #[tokio::test]
    async fn problems() {
        let rival = Rival::new();
        let address = serve(&rival);
        for form in [
            "response",
            "opaque",
            "result",
            "opaque_in_result",
            "lock_error",
        ] {
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
        let (one, other) = (serve(&here), serve(&there));
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

/// Above the attribute that makes a plain function of it, and inside of a runtime that it builds itself.
#[distributed_lock(key = "main", mode = "reject", manager = rival.locks())]
#[actix_web::main]
async fn start(rival: &Rival) -> Result<(), LockError> {
    rival.clone().scope(refused("main")).await;
    Ok(())
}

#[test]
fn above_the_main_function() {
    let rival = Rival::new();
    start(&rival).expect("free");
    assert_eq!(rival.refusals(), 1);
}

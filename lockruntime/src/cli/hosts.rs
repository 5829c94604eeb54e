//! Under which names the page may be asked for.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use http::uri::Authority;
use http::{StatusCode, header};

const REFUSAL: &str =
    "this page answers to an IP address, to localhost, and to the names of --host\n";

/// Refuses requests for other names. A page from elsewhere could have its own name resolved to this machine: its visitor's browser
/// would then take this page for a part of that one, and show it everything.
pub(super) fn only(router: Router, names: Vec<String>) -> Router {
    router.layer(middleware::from_fn_with_state(Arc::new(names), known))
}

async fn known(State(names): State<Arc<Vec<String>>>, request: Request, next: Next) -> Response {
    let named = request.headers().get(header::HOST);
    let named = named.and_then(|host| Authority::try_from(host.as_bytes()).ok());
    if named.is_some_and(|authority| is_known(authority.host(), &names)) {
        next.run(request).await
    } else {
        (StatusCode::MISDIRECTED_REQUEST, REFUSAL).into_response()
    }
}

/// No name server is asked for an address, so nobody can point one elsewhere.
fn is_known(host: &str, names: &[String]) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let mut names = names.iter().map(String::as_str).chain(["localhost"]);
    address.parse::<IpAddr>().is_ok() || names.any(|name| name.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_given_names_are_known() {
        let names = ["ops.internal".to_owned()];
        for (host, expected) in [
            ("127.0.0.1", true),
            ("[::1]", true),
            ("LocalHost", true),
            ("ops.internal", true),
            ("127.0.0.1.evil.example", false),
            ("evil.example", false),
            ("", false),
        ] {
            assert_eq!(is_known(host, &names), expected, "{host}");
        }
    }
}

//! axum: a refusal as a response, and handlers that return one.

use std::sync::Arc;
use std::task::{Context, Poll};

use axum_core::body::Body;
use axum_core::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use tower_layer::Layer;
use tower_service::Service;

use super::{PROBLEM_JSON, Refusal, Scoped, ScopedService, WithManager};
use crate::__private::FromLockError;
use crate::error::LockError;
use crate::token::FencingToken;

fn status(refusal: &Refusal) -> StatusCode {
    StatusCode::from_u16(refusal.status).expect("the policy has valid statuses only")
}

/// See [`web`](crate::web) for the statuses. The response's extensions carry the error as `Arc<LockError>`, for middleware
/// that logs.
impl IntoResponse for LockError {
    fn into_response(self) -> Response {
        let refusal = Refusal::of(&self);
        let mut response = Response::new(Body::from(refusal.problem(&self)));
        *response.status_mut() = status(&refusal);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(seconds) = refusal.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

impl From<LockError> for Response {
    fn from(error: LockError) -> Self {
        error.into_response()
    }
}

/// For a store behind the next service: `[("fencing-token", HeaderValue::from(token))]` in a response or a request.
impl From<FencingToken> for HeaderValue {
    fn from(token: FencingToken) -> Self {
        Self::from(token.get())
    }
}

/// The status alone: no content, no `Retry-After`.
impl From<LockError> for StatusCode {
    fn from(error: LockError) -> Self {
        status(&Refusal::of(&error))
    }
}

/// The status with one sentence for the client; no `Retry-After`.
impl From<LockError> for (StatusCode, String) {
    fn from(error: LockError) -> Self {
        let refusal = Refusal::of(&error);
        (status(&refusal), refusal.detail.to_owned())
    }
}

// not recommended: a wrong return type is told the same with and without this feature, namely to return a `Result`
#[diagnostic::do_not_recommend]
impl FromLockError for Response {
    fn from_lock_error(error: LockError) -> Self {
        error.into()
    }
}

#[diagnostic::do_not_recommend]
impl FromLockError for StatusCode {
    fn from_lock_error(error: LockError) -> Self {
        error.into()
    }
}

#[diagnostic::do_not_recommend]
impl FromLockError for (StatusCode, String) {
    fn from_lock_error(error: LockError) -> Self {
        error.into()
    }
}

impl<S> Layer<S> for WithManager {
    type Service = ScopedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        self.around(inner)
    }
}

impl<S: Service<R>, R> Service<R> for ScopedService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Scoped<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let Self { inner, locks } = self;
        Scoped::new(locks, || inner.call(request))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;
    use std::time::Duration;

    use http_body::Body as _;

    use super::*;
    use crate::web::tests::{assert_problem, busy, every_error};

    /// The content of a response that is complete already.
    fn content(response: Response) -> Vec<u8> {
        let mut body = pin!(response.into_body());
        let mut context = Context::from_waker(Waker::noop());
        let mut content = Vec::new();
        while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut context) {
            content.extend(frame.unwrap().into_data().unwrap());
        }
        content
    }

    #[test]
    fn every_refusal_is_a_problem_in_every_form() {
        for (error, code) in every_error() {
            let text = error.to_string();
            let response = error.into_response();
            assert_eq!(response.status(), code);
            assert_eq!(response.headers()[header::CONTENT_TYPE], PROBLEM_JSON);
            let kept: &Arc<LockError> = response.extensions().get().unwrap();
            assert_eq!(kept.to_string(), text);
            assert_problem(&content(response), code);
        }
        for (error, code) in every_error() {
            assert_eq!(StatusCode::from(error), code);
        }
        for (error, code) in every_error() {
            let (status, sentence) = <(StatusCode, String)>::from(error);
            assert_eq!(status, code);
            assert!(!sentence.contains("confidential"), "{sentence}");
        }
    }

    #[test]
    fn a_fencing_token_is_a_header_value() {
        let value = HeaderValue::from(FencingToken::new(1_796_000_000_000_000));
        assert_eq!(value, "1796000000000000");
    }

    #[test]
    fn only_a_known_remainder_is_answered_as_retry_after() {
        let known = busy(Some(Duration::from_millis(1_500))).into_response();
        assert_eq!(known.headers()[header::RETRY_AFTER], "2");
        assert!(
            !busy(None)
                .into_response()
                .headers()
                .contains_key(header::RETRY_AFTER)
        );
    }

    #[test]
    fn handlers_may_return_any_of_the_forms() {
        fn refusal<R: FromLockError>() -> R {
            R::from_lock_error(busy(None))
        }
        assert_eq!(refusal::<Response>().status(), 409);
        assert_eq!(refusal::<StatusCode>(), 409);
        assert_eq!(refusal::<(StatusCode, String)>().0, 409);
        assert_eq!(refusal::<Result<(), StatusCode>>().unwrap_err(), 409);
        assert_eq!(
            refusal::<Result<(), LockError>>()
                .unwrap_err()
                .into_response()
                .status(),
            409
        );
        assert_eq!(
            refusal::<axum_core::response::Result<()>>()
                .into_response()
                .status(),
            409
        );
    }
}

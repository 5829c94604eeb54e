//! actix-web: a refusal as a response, and handlers that return one.
//!
//! `actix_web::Result<T>` needs nothing here: `actix_web::Error` is made from every `ResponseError`.

use std::future::{Ready, ready};
use std::task::{Context, Poll};

use actix_web::dev::{Service, Transform};
use actix_web::http::{StatusCode, header};
use actix_web::web::Data;
use actix_web::{HttpResponse, ResponseError};

use super::{PROBLEM_JSON, Refusal, Scoped, ScopedService, WithManager};
use crate::__private::{AsManager, Call, FromLockError};
use crate::error::LockError;
use crate::token::FencingToken;

fn status(refusal: &Refusal) -> StatusCode {
    StatusCode::from_u16(refusal.status).expect("the policy has valid statuses only")
}

/// See [`web`](crate::web) for the statuses.
impl ResponseError for LockError {
    fn status_code(&self) -> StatusCode {
        status(&Refusal::of(self))
    }

    fn error_response(&self) -> HttpResponse {
        let refusal = Refusal::of(self);
        let mut response = HttpResponse::build(status(&refusal));
        response.content_type(PROBLEM_JSON);
        if let Some(seconds) = refusal.retry_after {
            response.insert_header((header::RETRY_AFTER, seconds));
        }
        response.body(refusal.problem(self))
    }
}

/// For a store behind the next service: `.insert_header(("fencing-token", HeaderValue::from(token)))` in a response or a request.
impl From<FencingToken> for header::HeaderValue {
    fn from(token: FencingToken) -> Self {
        Self::from(token.get())
    }
}

/// The response carries the error, see `HttpResponse::error`: actix-web's `Logger` and other middleware find it there.
impl From<LockError> for HttpResponse {
    fn from(error: LockError) -> Self {
        Self::from_error(error)
    }
}

// not recommended: a wrong return type is told the same with and without this feature, namely to return a `Result`
#[diagnostic::do_not_recommend]
impl FromLockError for HttpResponse {
    fn from_lock_error(error: LockError) -> Self {
        error.into()
    }
}

impl<S: Service<R>, R> Transform<S, R> for WithManager {
    type Response = S::Response;
    type Error = S::Error;
    type Transform = ScopedService<S>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, Self::InitError>>;

    fn new_transform(&self, service: S) -> Self::Future {
        ready(Ok(self.around(service)))
    }
}

impl<S: Service<R>, R> Service<R> for ScopedService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Scoped<S::Future>;

    fn poll_ready(&self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&self, request: R) -> Self::Future {
        Scoped::new(&self.locks, || self.inner.call(request))
    }
}

/// `manager = locks`, where `locks` is the application's data.
#[diagnostic::do_not_recommend]
impl<M: AsManager + ?Sized> AsManager for Data<M> {
    fn choose(&self, call: Call) -> Call {
        self.get_ref().choose(call)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix_web::body::MessageBody;

    use super::*;
    use crate::web::tests::{assert_problem, busy, every_error};

    #[test]
    fn every_refusal_is_a_problem() {
        for (error, code) in every_error() {
            let text = error.to_string();
            assert_eq!(error.status_code(), code);
            let response = HttpResponse::from(error);
            assert_eq!(response.status(), code);
            assert_eq!(
                response.headers().get(header::CONTENT_TYPE).unwrap(),
                PROBLEM_JSON
            );
            assert_eq!(response.error().unwrap().to_string(), text);
            assert_problem(&response.into_body().try_into_bytes().unwrap(), code);
        }
    }

    #[test]
    fn a_fencing_token_is_a_header_value() {
        let value = header::HeaderValue::from(FencingToken::new(1_796_000_000_000_000));
        assert_eq!(value, "1796000000000000");
    }

    #[test]
    fn only_a_known_remainder_is_answered_as_retry_after() {
        let known = busy(Some(Duration::from_millis(1_500))).error_response();
        assert_eq!(known.headers().get(header::RETRY_AFTER).unwrap(), "2");
        assert!(
            !busy(None)
                .error_response()
                .headers()
                .contains_key(header::RETRY_AFTER)
        );
    }

    #[test]
    fn handlers_may_return_any_of_the_forms() {
        fn refusal<R: FromLockError>() -> R {
            R::from_lock_error(busy(None))
        }
        assert_eq!(refusal::<HttpResponse>().status(), 409);
        assert_eq!(
            refusal::<Result<(), LockError>>()
                .unwrap_err()
                .status_code(),
            409
        );
        assert_eq!(
            refusal::<actix_web::Result<()>>()
                .unwrap_err()
                .error_response()
                .status(),
            409
        );
    }
}

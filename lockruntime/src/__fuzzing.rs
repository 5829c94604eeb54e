//! Doors for the fuzz targets in `tests/fuzz`. Only built with `--cfg fuzzing`, never part of the library.

use crate::manager::url::Location;

pub use crate::backend::redis::fuzzing::{record, reply, wake_up};

/// A URL is read or refused, and what is said of it never has its password.
pub fn url(text: &str) {
    if let Err(error) = Location::parse(text).and_then(|location| location.backend().map(drop))
        && let Some((_, password)) = text
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('@'))
            .and_then(|(user, _)| user.split_once(':'))
        && password.len() >= 8
    {
        assert!(!error.to_string().contains(password), "{error}");
    }
}

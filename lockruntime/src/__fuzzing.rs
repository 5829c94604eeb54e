//! Doors for the fuzz targets in `tests/fuzz`. Only built with `--cfg fuzzing`, never part of the library.

use crate::manager::url::Location;

pub use crate::backend::redis::fuzzing::{record, reply, wake_up};

/// Never a part of our own words, whatever happens to its letters' case.
const SECRET: &str = "zqxsecretw";

/// A URL is read or refused, and what is said of it never has its password, which is planted here.
pub fn url(text: &str) {
    let Some((scheme, rest)) = text.split_once("://") else {
        return url_with(text);
    };
    let (user, rest) = rest.split_once(':').unwrap_or((rest, "@localhost"));
    url_with(text);
    url_with(&format!("{scheme}://{user}:{SECRET}{rest}"));
}

fn url_with(text: &str) {
    if let Err(error) = Location::parse(text).and_then(|location| location.backend().map(drop)) {
        let said = error.to_string().to_lowercase();
        assert!(!said.contains(SECRET), "{error}");
    }
}

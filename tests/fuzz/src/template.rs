//! Key templates and durations, as people may write them in the attribute.
#![no_main]

#[allow(dead_code, reason = "the macro's files are looked at from outside here")]
#[path = "../../../lockmacro/src/duration.rs"]
mod duration;
#[allow(dead_code, reason = "the macro's files are looked at from outside here")]
#[path = "../../../lockmacro/src/template.rs"]
mod template;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match template::parse(text) {
        Ok(pieces) => assert!(!pieces.is_empty() || text.is_empty(), "{text:?} became nothing"),
        Err(errors) => assert!(!errors.is_empty(), "{text:?} is wrong, and nobody says why"),
    }
    for purpose in [duration::Use::Lease, duration::Use::Wait] {
        if let Err(error) = duration::parse(text, purpose) {
            assert!(!error.is_empty());
        }
    }
});

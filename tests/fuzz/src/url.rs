//! URLs of lock managers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| lockruntime::__fuzzing::url(text));

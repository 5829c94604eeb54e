//! The holder's record, as anybody may have written it at our key.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|json: &[u8]| lockruntime::__fuzzing::record(json));

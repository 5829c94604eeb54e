//! Answers and wake-ups of a server, or of whatever stands between.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    lockruntime::__fuzzing::reply(bytes);
    lockruntime::__fuzzing::wake_up(bytes);
});

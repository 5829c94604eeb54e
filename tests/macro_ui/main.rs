//! What the attribute says to everything that it doesn't take; `macro_pass` has what it takes.
//!
//! Every case under `fail/` has the expected errors beside it, and calls its functions, since they must exist whatever the
//! attribute says. `TRYBUILD=overwrite` writes new expectations: read the difference.
//! `cargo test -p tests --test macro_ui -- ui trybuild=fail/key` runs a part.

mod messages;

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("macro_ui/fail/*/*.rs");
}

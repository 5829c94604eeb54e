//! What the attribute accepts and what it says otherwise.
//!
//! Every case under `pass/` is a program: it runs its functions on a memory manager and asserts inside each body that a
//! rival is refused. Every case under `fail/` has the expected errors beside it, and calls its functions, since they must
//! exist whatever the attribute says. `TRYBUILD=overwrite` writes new expectations: read the difference.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.pass("macro_ui/pass/*.rs");
    cases.compile_fail("macro_ui/fail/*/*.rs");
}

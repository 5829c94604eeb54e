//! No lint comes from generated code: clippy reads a small crate of annotated functions that denies every warning.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[test]
fn a_crate_that_denies_every_warning_has_none() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crate_here = here.join("macro_lints/crate");
    let target = here.join("../target/tests/lints");
    // a copy: the lockfile and what cargo writes don't belong into the sources
    let copy = target.join("crate");
    fs::create_dir_all(copy.join("src")).expect("a folder");
    let manifest = fs::read_to_string(crate_here.join("Cargo.toml")).expect("a manifest");
    let runtime = here
        .join("../lockruntime")
        .canonicalize()
        .expect("a folder");
    let manifest = manifest.replace(
        "../../../lockruntime",
        runtime.to_str().expect("a path in UTF-8"),
    );
    fs::write(copy.join("Cargo.toml"), manifest).expect("a copy");
    fs::copy(crate_here.join("src/lib.rs"), copy.join("src/lib.rs")).expect("a copy");
    fs::copy(here.join("../Cargo.lock"), copy.join("Cargo.lock")).expect("a copy");

    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let clippy = Command::new(cargo)
        .args([
            "clippy",
            "--offline",
            "--quiet",
            "--message-format",
            "short",
            "--target-dir",
        ])
        .arg(&target)
        .arg("--manifest-path")
        .arg(copy.join("Cargo.toml"))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&clippy.stderr);
    assert!(
        !said.contains("no such command"),
        "clippy is missing; install it: rustup component add clippy"
    );
    assert!(clippy.status.success() && said.is_empty(), "{said}");
}

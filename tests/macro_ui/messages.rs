//! What holds of every message in `fail/`, read from the committed files.

use std::fs;
use std::path::{Path, PathBuf};

/// The cases and what they say.
fn cases() -> Vec<(PathBuf, String, String)> {
    let mut cases = Vec::new();
    for theme in folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("macro_ui/fail")) {
        for file in folder(&theme) {
            if file.extension().is_some_and(|ending| ending == "rs") {
                let code = fs::read_to_string(&file).expect("a case");
                let messages =
                    fs::read_to_string(file.with_extension("stderr")).expect("its messages");
                cases.push((file, code, messages));
            }
        }
    }
    cases
}

fn folder(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).expect("a folder");
    entries
        .map(|entry| entry.expect("readable").path())
        .collect()
}

/// One error each: the lines from its `error` to the next blank one.
fn errors(messages: &str) -> impl Iterator<Item = &str> {
    messages
        .split("\n\n")
        .filter(|part| part.trim_start().starts_with("error"))
}

#[test]
fn there_are_at_least_fifty() {
    assert!(cases().len() >= 50, "{} cases", cases().len());
}

#[test]
fn no_message_names_our_insides() {
    for (file, _, messages) in cases() {
        for inside in ["__private", "__lockruntime", "lockmacro", "proc-macro"] {
            assert!(
                !messages.contains(inside),
                "{inside} in {}: {messages}",
                file.display()
            );
        }
    }
}

/// As many errors as mistakes: one for each attribute, unless the case says another number in its first lines.
#[test]
fn one_error_for_each_mistake() {
    for (file, code, messages) in cases() {
        let told = errors(&messages).count();
        let said = code
            .lines()
            .find_map(|line| line.strip_prefix("//! Mistakes: "));
        let mistakes = match said {
            Some(number) => number.trim_end_matches('.').parse().expect("a number"),
            None => code
                .lines()
                .filter(|line| line.trim_start().starts_with("#[distributed_lock"))
                .count(),
        };
        assert_eq!(told, mistakes, "{}", file.display());
    }
}

/// Only what is missing altogether is told at the whole attribute.
#[test]
fn no_error_points_at_the_whole_attribute() {
    for (file, _, messages) in cases() {
        for error in errors(&messages).filter(|error| points_at_the_attribute(error)) {
            assert!(
                error.contains("the lock needs a key"),
                "{}: {error}",
                file.display()
            );
        }
    }
}

/// Whether the marks begin under the `#` of the attribute.
fn points_at_the_attribute(error: &str) -> bool {
    let lines: Vec<&str> = error.lines().collect();
    lines.windows(2).any(|pair| {
        let [code, marks] = pair else { return false };
        let column = code.find("#[distributed_lock");
        column.is_some() && column == marks.find('^')
    })
}

//! The lines that are taken out stand where `mutants/` says.

use std::fs;
use std::path::Path;

/// Each once in its file, and each for a test of this theme.
#[test]
fn every_line_that_is_taken_out_stands_once() {
    let theme = Path::new(env!("CARGO_MANIFEST_DIR")).join("promises");
    let sources: String = fs::read_dir(&theme)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "rs"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let mut seen = 0;
    for entry in fs::read_dir(theme.join("mutants")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "line") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        let (file, line) = (lines.next().unwrap(), lines.next().unwrap());
        let source = fs::read_to_string(theme.join("../..").join(file)).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert_eq!(source.matches(line).count(), 1, "{name}: {line} in {file}");
        assert!(
            sources.contains(&format!("async fn {name}(")),
            "there is no test {name}"
        );
        seen += 1;
    }
    assert_eq!(seen, sources.matches("Taken out, in `").count() - 1);
}

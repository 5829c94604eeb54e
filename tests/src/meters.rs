//! The metrics of this process, as Prometheus reads them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

/// Starts counting, once per process.
fn handle() -> &'static PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| {
        PrometheusBuilder::new()
            .set_buckets(&[0.001, 0.01, 0.1, 1.0, 10.0])
            .and_then(PrometheusBuilder::install_recorder)
            .expect("nobody else counts")
    })
}

/// Starts counting, once per process.
pub fn count() {
    handle();
}

/// What a scrape reads now.
#[must_use]
pub fn scrape() -> String {
    handle().render()
}

/// The sum of all values of a metric whose labels have all of `labels`, each as `name="value"`.
#[must_use]
pub fn value(name: &str, labels: &[&str]) -> f64 {
    let text = scrape();
    let values = text.lines().filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        let (found, rest) = series.split_once('{').unwrap_or((series, ""));
        (found == name && labels.iter().all(|label| rest.contains(label)))
            .then(|| value.parse::<f64>().ok())?
    });
    values.sum()
}

/// The names of all metrics, as their `TYPE` lines have them.
#[must_use]
pub fn names() -> BTreeSet<String> {
    let text = scrape();
    let of = |line: &str| Some(line.strip_prefix("# TYPE ")?.split(' ').next()?.to_owned());
    text.lines().filter_map(of).collect()
}

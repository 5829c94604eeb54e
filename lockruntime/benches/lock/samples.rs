//! Numbers of many measurements.

use std::time::Duration;

/// Times of one window.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The time below which so many percent of the samples are, in microseconds.
    pub(crate) fn at(&mut self, percent: usize) -> f64 {
        self.0.sort_unstable();
        let index = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(index).map_or(f64::NAN, |time| micros(*time))
    }

    pub(crate) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    /// In microseconds.
    pub(crate) fn longest(&self) -> f64 {
        self.0.iter().max().map_or(f64::NAN, |time| micros(*time))
    }

    /// In microseconds.
    pub(crate) fn mean(&self) -> f64 {
        let sum: Duration = self.0.iter().sum();
        micros(sum) / count(self.0.len())
    }
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A count as a factor.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

/// The middle one.
pub(crate) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

//! The text of a page.

use hdrhistogram::Histogram;
use std::fmt::Write;

/// A page of metrics (text format 0.0.4).
#[derive(Debug, Default)]
pub struct Text {
    text: String,
    name: &'static str,
}

impl Text {
    /// Begins a metric: its name, `counter`, `gauge` or `histogram`, and a sentence.
    pub fn begin(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        // Writing to a string does not fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// A value of the metric that began last. `labels` is as inside the braces: `device="0",op="read"`.
    pub fn value(&mut self, suffix: &str, labels: &str, value: f64) {
        let braces = match labels {
            "" => String::new(),
            labels => format!("{{{labels}}}"),
        };
        let _ = writeln!(self.text, "{}{suffix}{braces} {value}", self.name);
    }

    /// Buckets, sum and count of times in nanoseconds. Without `sum_ns` the sum is that of the histogram's buckets.
    pub fn histogram(&mut self, labels: &str, of: &Histogram<u64>, bounds_s: &[f64], sum_ns: Option<u128>) {
        let comma = if labels.is_empty() { "" } else { "," };
        for bound in bounds_s {
            let count = match of.is_empty() {
                true => 0,
                false => of.count_between(0, (bound * 1e9) as u64),
            };
            let labels = format!("{labels}{comma}le=\"{bound}\"");
            self.value("_bucket", &labels, count as f64);
        }
        let labels_inf = format!("{labels}{comma}le=\"+Inf\"");
        self.value("_bucket", &labels_inf, of.len() as f64);
        let sum_s = match sum_ns {
            Some(sum) => sum as f64 * 1e-9,
            None => of.mean() * of.len() as f64 * 1e-9,
        };
        self.value("_sum", labels, sum_s);
        self.value("_count", labels, of.len() as f64);
    }

    /// The page.
    pub fn into_string(self) -> String {
        self.text
    }
}

/// A value of a label between quotes, with what may not stand there escaped.
pub fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

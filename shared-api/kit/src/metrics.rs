//! `/metrics`: a page in the text format of Prometheus, made when it is asked for.

use std::fmt::{Display, Write};

/// The page. Values of labels are words of ours and names of objects: nothing in them is to be escaped.
#[derive(Debug, Default)]
pub struct Page(String);

/// How often something took how long, in the unit that the name of the metric says.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Up to where each bucket goes, growing, and how many observations are in it.
    buckets: Vec<(f64, u64)>,
    sum: f64,
    count: u64,
}

impl Histogram {
    /// One without observations, whose buckets go up to these.
    pub fn new(bounds: &[f64]) -> Self {
        Self { buckets: bounds.iter().map(|bound| (*bound, 0)).collect(), sum: 0.0, count: 0 }
    }

    /// What was counted elsewhere: up to where each bucket goes, growing, and how many observations go no farther.
    pub fn counted(buckets: impl IntoIterator<Item = (f64, u64)>, sum: f64, count: u64) -> Self {
        Self { buckets: buckets.into_iter().collect(), sum, count }
    }

    /// Counts an observation.
    pub fn observe(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.buckets.iter_mut().filter(|(bound, _)| value <= *bound).for_each(|(_, count)| *count += 1);
    }
}

// Writing to a String cannot fail.
impl Page {
    /// Begins a metric that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str) {
        self.head(name, help, "gauge");
    }

    /// Begins a metric that only goes up.
    pub fn counter(&mut self, name: &str, help: &str) {
        self.head(name, help, "counter");
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A value of the metric that was begun.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(label, word)| format!("{label}=\"{word}\"")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    /// All of a histogram, which has no labels.
    pub fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.histograms(name, help, [(&[][..], histogram)]);
    }

    /// All of several histograms, by their labels.
    pub fn histograms<'a>(
        &mut self,
        name: &str,
        help: &str,
        histograms: impl IntoIterator<Item = (&'a [(&'a str, &'a str)], &'a Histogram)>,
    ) {
        self.head(name, help, "histogram");
        let bucket = format!("{name}_bucket");
        for (labels, Histogram { buckets, sum, count }) in histograms {
            for (bound, count) in buckets {
                self.sample(&bucket, &[labels, &[("le", &bound.to_string())]].concat(), count);
            }
            self.sample(&bucket, &[labels, &[("le", "+Inf")]].concat(), count);
            self.sample(&format!("{name}_sum"), labels, sum);
            self.sample(&format!("{name}_count"), labels, count);
        }
    }

    /// The text.
    pub fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_up_to_each_bound() {
        let mut histogram = Histogram::new(&[0.5, 1.0]);
        [0.25, 0.5, 0.75, 4.0].into_iter().for_each(|value| histogram.observe(value));
        let mut page = Page::default();
        page.histogram("took", "How long.", &histogram);
        assert_eq!(
            page.into_text(),
            "\
# HELP took How long.
# TYPE took histogram
took_bucket{le=\"0.5\"} 2
took_bucket{le=\"1\"} 3
took_bucket{le=\"+Inf\"} 4
took_sum 5.5
took_count 4
"
        );
    }

    #[test]
    fn several_histograms_are_told_apart_by_their_labels() {
        let histogram = Histogram::counted([(0.5, 2)], 5.5, 4);
        let mut page = Page::default();
        page.histograms("took", "How long.", [(&[("operation", "add")][..], &histogram)]);
        let text = page.into_text();
        let samples: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                "took_bucket{operation=\"add\",le=\"0.5\"} 2",
                "took_bucket{operation=\"add\",le=\"+Inf\"} 4",
                "took_sum{operation=\"add\"} 5.5",
                "took_count{operation=\"add\"} 4",
            ]
        );
    }
}

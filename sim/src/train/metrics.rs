//! How good predictions are: loss, and accuracy or R².

use compiler::derived::losses::Loss as Library;
use compiler::derived::training::Measure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Loss and score over a set of samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Mean loss per sample.
    #[schemars(with = "Option<f64>")]
    pub loss: f64,
    /// How often the predicted class is the right one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// 1 - residual variance / variance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r2: Option<f64>,
}

/// Smallest probability that `logistic` takes for one: a fixed-point sigmoid reaches 0 and 1.
pub const SMALLEST_PROBABILITY: f64 = 1e-6;

/// Which elements of a prediction are classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Classes {
    /// Element of the first class.
    pub first: usize,
    /// How many.
    pub count: usize,
}

/// What predictions are judged by, beside the loss; all in the program's units.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scale<'a> {
    /// Which elements are classes.
    pub classes: Classes,
    /// The numbers that labels can have: the nearest is the predicted class, for losses of one number.
    pub codes: &'a [f64],
    /// The target's units per column.
    pub units: &'a [f64],
}

/// Judge predictions against labels, sample by sample. A scalar of the program is its own loss, and has no score.
pub fn judge(loss: &Measure, predictions: &[Vec<f64>], labels: &[&[f64]], scale: Scale) -> Metrics {
    let count = predictions.len().max(1) as f64;
    let mean =
        |of: &dyn Fn(&[f64], &[f64]) -> f64| predictions.iter().zip(labels).map(|(h, y)| of(h, y)).sum::<f64>() / count;
    let Measure::Library(loss) = loss else {
        let sum: f64 = predictions.iter().flatten().sum();
        return Metrics { loss: sum / count, accuracy: None, r2: None };
    };
    let unit = |element: usize| scale.units.get(element).copied().unwrap_or(1.0);
    let elements = |h: &[f64], y: &[f64], of: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
        h.iter().zip(y).enumerate().map(|(n, (&h, &y))| of(h, y, unit(n))).sum()
    };
    let range = scale.classes.first..scale.classes.first + scale.classes.count;
    let of_class =
        |h: &[f64], y: &[f64], of: &dyn Fn(f64, f64) -> f64| -> f64 { range.clone().map(|n| of(h[n], y[n])).sum() };
    let nearest_is_right = |h: &[f64], y: &[f64]| f64::from(nearest(scale.codes, first_of(h)) == y[0]);
    let largest_is_right = |h: &[f64], y: &[f64]| f64::from(largest(&h[range.clone()]) == largest(&y[range.clone()]));
    let log = |p: f64| libm::log(p.clamp(SMALLEST_PROBABILITY, f64::INFINITY));
    let loss_of = |h: &[f64], y: &[f64]| match loss {
        Library::Squared => elements(h, y, &|h, y, unit| square((h - y) * unit)),
        Library::Absolute => elements(h, y, &|h, y, unit| libm::fabs(h - y) * unit),
        Library::Huber => elements(h, y, &|h, y, _| huber(h - y)),
        Library::Logistic => {
            let (h, y) = (first_of(h), y[0]);
            -(y * log(h.min(1.0)) + (1.0 - y) * log((1.0 - h).min(1.0)))
        }
        Library::Hinge => (1.0 - first_of(h) * y[0]).max(0.0),
        Library::OneHot => of_class(h, y, &|h, y| square(h - y)),
        Library::CrossEntropy => of_class(h, y, &|h, y| -y * log(h)),
        Library::Poisson => elements(h, y, &|h, y, _| h - y * log(h)),
    };
    let (accuracy, r2) = match loss {
        Library::Squared | Library::Absolute | Library::Huber | Library::Poisson => {
            let residual = mean(&|h, y| elements(h, y, &|h, y, unit| square((h - y) * unit)));
            let variance = variance(labels, &unit);
            (None, Some(if variance == 0.0 { 0.0 } else { 1.0 - residual / variance }))
        }
        Library::Logistic | Library::Hinge => (Some(mean(&nearest_is_right)), None),
        Library::OneHot | Library::CrossEntropy => (Some(mean(&largest_is_right)), None),
    };
    Metrics { loss: mean(&loss_of), accuracy, r2 }
}

/// Sum over the elements of the mean squared distance from their mean.
fn variance(labels: &[&[f64]], unit: &dyn Fn(usize) -> f64) -> f64 {
    let count = labels.len().max(1) as f64;
    let of = |n: usize| {
        let mean = labels.iter().map(|y| y[n]).sum::<f64>() / count;
        labels.iter().map(|y| square((y[n] - mean) * unit(n))).sum::<f64>() / count
    };
    (0..labels.first().map_or(0, |y| y.len())).map(of).sum()
}

fn huber(error: f64) -> f64 {
    let size = libm::fabs(error);
    if size < 1.0 { 0.5 * square(size) } else { size - 0.5 }
}

fn first_of(values: &[f64]) -> f64 {
    values.first().copied().unwrap_or(f64::NAN)
}

/// The code nearest to a value.
fn nearest(codes: &[f64], value: f64) -> f64 {
    let distance = |code: &f64| libm::fabs(code - value);
    codes.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(value)
}

fn square(x: f64) -> f64 {
    x * x
}

/// Position of the largest element; the first of equals.
pub fn largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (n, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = n;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(loss: Library, predictions: &[Vec<f64>], labels: &[&[f64]], scale: Scale) -> Metrics {
        judge(&Measure::Library(loss), predictions, labels, scale)
    }

    #[test]
    fn perfect_and_mean_predictions() {
        let labels: [&[f64]; 2] = [&[1.0], &[3.0]];
        let scale = Scale { units: &[10.0], ..Scale::default() };
        let squared = |h: [f64; 2]| judged(Library::Squared, &[vec![h[0]], vec![h[1]]], &labels, scale);
        assert_eq!(squared([1.0, 3.0]), Metrics { loss: 0.0, accuracy: None, r2: Some(1.0) });
        assert_eq!(squared([2.0, 2.0]), Metrics { loss: 100.0, accuracy: None, r2: Some(0.0) });
        let absolute = judged(Library::Absolute, &[vec![2.0], vec![2.5]], &labels, scale);
        assert_eq!(absolute, Metrics { loss: 7.5, accuracy: None, r2: Some(0.375) });
        let huber = judged(Library::Huber, &[vec![4.0], vec![2.5]], &labels, Scale::default());
        assert_eq!(huber.loss, (2.5 + 0.125) / 2.0);
    }

    #[test]
    fn classes() {
        let codes = |codes| Scale { codes, ..Scale::default() };
        let hinge = judged(Library::Hinge, &[vec![0.5], vec![0.5]], &[&[1.0], &[-1.0]], codes(&[-1.0, 1.0]));
        assert_eq!(hinge, Metrics { loss: 1.0, accuracy: Some(0.5), r2: None });
        let logistic = judged(Library::Logistic, &[vec![1.0], vec![0.0]], &[&[1.0], &[0.0]], codes(&[0.0, 1.0]));
        assert_eq!(logistic, Metrics { loss: 0.0, accuracy: Some(1.0), r2: None });
        let predictions = [vec![9.0, 0.25, 0.5], vec![9.0, 1.0, 0.0]];
        let labels: [&[f64]; 2] = [&[0.0, 0.0, 1.0], &[0.0, 0.0, 1.0]];
        let scale = Scale { classes: Classes { first: 1, count: 2 }, ..Scale::default() };
        let one_hot = judged(Library::OneHot, &predictions, &labels, scale);
        assert_eq!(one_hot, Metrics { loss: (0.3125 + 2.0) / 2.0, accuracy: Some(0.5), r2: None });
        let entropy = judged(Library::CrossEntropy, &predictions[..1], &labels[..1], scale);
        assert_eq!(entropy, Metrics { loss: std::f64::consts::LN_2, accuracy: Some(1.0), r2: None });
    }

    #[test]
    fn a_scalar_is_its_own_loss() {
        let metrics = judge(&Measure::Scalar("e".to_owned()), &[vec![1.0], vec![2.0]], &[], Scale::default());
        assert_eq!(metrics, Metrics { loss: 1.5, accuracy: None, r2: None });
    }
}

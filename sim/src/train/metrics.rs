//! How good predictions are: loss, and accuracy or R².

use crate::train::settings::Loss;
use serde::{Deserialize, Serialize};

/// Loss and score over a set of samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Mean loss per sample.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Classes {
    /// Element of the first class.
    pub first: usize,
    /// How many.
    pub count: usize,
}

/// Judge predictions against labels, sample by sample; both in the program's units, `scale` gives the target's units per column.
///
/// `codes` are the numbers that the labels can have (for `logistic` and `hinge`: the nearest is the predicted class).
pub fn judge(
    loss: Loss,
    predictions: &[Vec<f64>],
    labels: &[&[f64]],
    classes: Classes,
    codes: &[f64],
    scale: &[f64],
) -> Metrics {
    let count = predictions.len().max(1) as f64;
    let pairs = || predictions.iter().zip(labels);
    let unit = |element: usize| scale.get(element).copied().unwrap_or(1.0);
    let nearest = |value: f64| {
        codes.iter().copied().min_by(|a, b| libm::fabs(a - value).total_cmp(&libm::fabs(b - value))).unwrap_or(value)
    };
    let accuracy = |right: usize| (Some(right as f64 / count), None);
    let first_of = |values: &[f64]| values.first().copied().unwrap_or(f64::NAN);
    let (sum, (accuracy, r2)) = match loss {
        Loss::Squared => {
            let residual: f64 = pairs()
                .map(|(h, y)| h.iter().zip(*y).enumerate().map(|(n, (h, y))| square((h - y) * unit(n))).sum::<f64>())
                .sum();
            let elements = labels.first().map_or(0, |y| y.len());
            let variance: f64 = (0..elements)
                .map(|n| {
                    let mean = labels.iter().map(|y| y[n]).sum::<f64>() / count;
                    labels.iter().map(|y| square((y[n] - mean) * unit(n))).sum::<f64>()
                })
                .sum();
            (residual, (None, Some(if variance == 0.0 { 0.0 } else { 1.0 - residual / variance })))
        }
        Loss::Logistic => {
            let log = |p: f64| libm::log(p.clamp(SMALLEST_PROBABILITY, 1.0));
            let cost = |h: f64, y: f64| -(y * log(h) + (1.0 - y) * log(1.0 - h));
            let sum = pairs().map(|(h, y)| cost(first_of(h), y[0])).sum();
            (sum, accuracy(pairs().filter(|(h, y)| nearest(first_of(h)) == y[0]).count()))
        }
        Loss::Hinge => {
            let sum = pairs().map(|(h, y)| (1.0 - first_of(h) * y[0]).max(0.0)).sum();
            (sum, accuracy(pairs().filter(|(h, y)| nearest(first_of(h)) == y[0]).count()))
        }
        Loss::OneHot => {
            let range = classes.first..classes.first + classes.count;
            let sum = pairs().map(|(h, y)| range.clone().map(|n| square(h[n] - y[n])).sum::<f64>()).sum();
            (sum, accuracy(pairs().filter(|(h, y)| largest(&h[range.clone()]) == largest(&y[range.clone()])).count()))
        }
    };
    Metrics { loss: sum / count, accuracy, r2 }
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

    const NONE: Classes = Classes { first: 0, count: 0 };

    #[test]
    fn perfect_and_mean_predictions() {
        let labels: [&[f64]; 2] = [&[1.0], &[3.0]];
        let judged = |h: [f64; 2]| judge(Loss::Squared, &[vec![h[0]], vec![h[1]]], &labels, NONE, &[], &[10.0]);
        assert_eq!(judged([1.0, 3.0]), Metrics { loss: 0.0, accuracy: None, r2: Some(1.0) });
        assert_eq!(judged([2.0, 2.0]), Metrics { loss: 100.0, accuracy: None, r2: Some(0.0) });
    }

    #[test]
    fn classes() {
        let hinge = judge(Loss::Hinge, &[vec![0.5], vec![0.5]], &[&[1.0], &[-1.0]], NONE, &[-1.0, 1.0], &[]);
        assert_eq!(hinge, Metrics { loss: 1.0, accuracy: Some(0.5), r2: None });
        let logistic = judge(Loss::Logistic, &[vec![1.0], vec![0.0]], &[&[1.0], &[0.0]], NONE, &[0.0, 1.0], &[]);
        assert_eq!(logistic, Metrics { loss: 0.0, accuracy: Some(1.0), r2: None });
        let predictions = [vec![9.0, 0.25, 0.5], vec![9.0, 1.0, 0.0]];
        let one_hot = judge(
            Loss::OneHot,
            &predictions,
            &[&[0.0, 0.0, 1.0], &[0.0, 0.0, 1.0]],
            Classes { first: 1, count: 2 },
            &[],
            &[],
        );
        assert_eq!(one_hot, Metrics { loss: (0.3125 + 2.0) / 2.0, accuracy: Some(0.5), r2: None });
    }
}

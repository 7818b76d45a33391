//! How good predictions are: loss; accuracy, F1 and AUC of classes; R² and mean absolute error of numbers; which classes are confused.

use compiler::derived::losses::Loss as Library;
use compiler::derived::training::Measure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Loss and score over a set of samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Mean loss per sample.
    #[schemars(with = "Option<f64>")]
    pub loss: f64,
    /// How often the predicted class is the right one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Harmonic mean of precision and recall: of the larger of two labels, of more classes the mean over them. A class that neither occurs nor is
    /// predicted counts as 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1: Option<f64>,
    /// How often a sample of a class scores higher than one of another, equal scores half: of the larger of two labels, of more classes the mean
    /// over each against the rest. Nothing where a class does not occur.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auc: Option<f64>,
    /// 1 - residual variance / variance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r2: Option<f64>,
    /// Mean absolute error, in the target's units; of several targets the mean over them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mae: Option<f64>,
}

/// How often samples of a class (rows) were taken for each class (columns).
pub type Confusion = Vec<Vec<u64>>;

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
        return Metrics { loss: sum / count, ..Metrics::default() };
    };
    let unit = |element: usize| scale.units.get(element).copied().unwrap_or(1.0);
    let elements = |h: &[f64], y: &[f64], of: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
        h.iter().zip(y).enumerate().map(|(n, (&h, &y))| of(h, y, unit(n))).sum()
    };
    let range = scale.classes.first..scale.classes.first + scale.classes.count;
    let of_class =
        |h: &[f64], y: &[f64], of: &dyn Fn(f64, f64) -> f64| -> f64 { range.clone().map(|n| of(h[n], y[n])).sum() };
    let log = |p: f64| libm::log(p.clamp(SMALLEST_PROBABILITY, f64::INFINITY));
    let logistic = |h: f64, y: f64| -(y * log(h.min(1.0)) + (1.0 - y) * log((1.0 - h).min(1.0)));
    let loss_of = |h: &[f64], y: &[f64]| match loss {
        Library::Squared => elements(h, y, &|h, y, unit| square((h - y) * unit)),
        Library::Absolute => elements(h, y, &|h, y, unit| libm::fabs(h - y) * unit),
        Library::Huber => elements(h, y, &|h, y, _| huber(h - y)),
        Library::Logistic => logistic(first_of(h), y[0]),
        Library::Hinge => (1.0 - first_of(h) * y[0]).max(0.0),
        Library::OneHot => of_class(h, y, &logistic),
        Library::CrossEntropy => of_class(h, y, &|h, y| -y * log(h)),
        Library::Poisson => elements(h, y, &|h, y, _| h - y * log(h)),
    };
    let loss_of_all = mean(&loss_of);
    if let Some(classified) = classify(*loss, predictions, labels, scale) {
        let right = classified.pairs.iter().filter(|(own, taken)| own == taken).count();
        return Metrics {
            loss: loss_of_all,
            accuracy: Some(right as f64 / count),
            f1: Some(f1(&classified)),
            auc: auc(*loss, predictions, labels, scale),
            ..Metrics::default()
        };
    }
    if matches!(loss, Library::Logistic | Library::Hinge | Library::OneHot | Library::CrossEntropy) {
        let right = mean(&|h, y| f64::from(first_of(h) == first_of(y)));
        return Metrics { loss: loss_of_all, accuracy: Some(right), ..Metrics::default() };
    }
    let residual = mean(&|h, y| elements(h, y, &|h, y, unit| square((h - y) * unit)));
    let variance = variance(labels, &unit);
    let targets = labels.first().map_or(1, |y| y.len()).max(1) as f64;
    Metrics {
        loss: loss_of_all,
        r2: Some(if variance == 0.0 { 0.0 } else { 1.0 - residual / variance }),
        mae: Some(mean(&|h, y| elements(h, y, &|h, y, unit| libm::fabs(h - y) * unit)) / targets),
        ..Metrics::default()
    }
}

/// Most classes of a [`Confusion`]: it has a number for each pair of them.
const MOST_CONFUSED: usize = 1000;

/// Which classes are taken for which, where predictions are classes, and not too many to tell.
pub fn confusion(loss: &Measure, predictions: &[Vec<f64>], labels: &[&[f64]], scale: Scale) -> Option<Confusion> {
    let Measure::Library(loss) = loss else { return None };
    let Classified { classes, pairs } =
        classify(*loss, predictions, labels, scale).filter(|classified| classified.classes <= MOST_CONFUSED)?;
    let mut confusion = vec![vec![0; classes]; classes];
    for (own, taken) in pairs {
        confusion[own][taken] += 1;
    }
    Some(confusion)
}

/// The class that each sample is taken for; nothing where predictions are no classes.
pub fn taken(loss: &Measure, predictions: &[Vec<f64>], labels: &[&[f64]], scale: Scale) -> Option<Vec<usize>> {
    let Measure::Library(loss) = loss else { return None };
    Some(classify(*loss, predictions, labels, scale)?.pairs.into_iter().map(|(_, taken)| taken).collect())
}

/// For each sample its class and the one that it is taken for.
struct Classified {
    classes: usize,
    pairs: Vec<(usize, usize)>,
}

fn classify(loss: Library, predictions: &[Vec<f64>], labels: &[&[f64]], scale: Scale) -> Option<Classified> {
    let range = scale.classes.first..scale.classes.first + scale.classes.count;
    let class = |values: &[f64]| match loss {
        Library::Logistic | Library::Hinge => nearest(scale.codes, first_of(values)),
        _ => largest(&values[range.clone()]),
    };
    let classes = match loss {
        Library::Logistic | Library::Hinge => scale.codes.len(),
        Library::OneHot | Library::CrossEntropy => scale.classes.count,
        _ => 0,
    };
    // Labels without names are no classes to name.
    let pairs = || predictions.iter().zip(labels).map(|(h, y)| (class(y), class(h))).collect();
    (classes > 0).then(|| Classified { classes, pairs: pairs() })
}

/// Of two labels that of the larger one, of more classes the mean.
fn f1(classified: &Classified) -> f64 {
    // How many samples of a class are taken for it, and how many mentions it has: as their class, and as what they are taken for.
    let (mut right, mut mentions) = (vec![0u64; classified.classes], vec![0u64; classified.classes]);
    for &(own, taken) in &classified.pairs {
        right[own] += u64::from(own == taken);
        mentions[own] += 1;
        mentions[taken] += 1;
    }
    let of = |class: usize| if right[class] == 0 { 0.0 } else { 2.0 * right[class] as f64 / mentions[class] as f64 };
    match classified.classes {
        2 => of(1),
        classes => (0..classes).map(of).sum::<f64>() / classes.max(1) as f64,
    }
}

fn auc(loss: Library, predictions: &[Vec<f64>], labels: &[&[f64]], scale: Scale) -> Option<f64> {
    let Classes { first, count } = scale.classes;
    match loss {
        Library::Logistic | Library::Hinge => {
            let larger = scale.codes.iter().copied().max_by(f64::total_cmp)?;
            (scale.codes.len() == 2)
                .then(|| area(predictions.iter().zip(labels).map(|(h, y)| (first_of(h), y[0] == larger))))?
        }
        _ => {
            let own = |class: usize| predictions.iter().zip(labels).map(move |(h, y)| (h[class], y[class] > 0.5));
            // Of two classes the second is the positive one.
            let judged = if count == 2 { first + 1..first + 2 } else { first..first + count };
            let areas = judged.clone().map(|class| area(own(class))).collect::<Option<Vec<f64>>>()?;
            Some(areas.iter().sum::<f64>() / judged.len().max(1) as f64)
        }
    }
}

/// How often a positive sample scores higher than another one: by the ranks of the positive ones, equal scores in the middle of their ranks.
fn area(samples: impl Iterator<Item = (f64, bool)>) -> Option<f64> {
    let mut samples: Vec<(f64, bool)> = samples.collect();
    samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    let positive = samples.iter().filter(|sample| sample.1).count() as f64;
    let negative = samples.len() as f64 - positive;
    if positive == 0.0 || negative == 0.0 {
        return None;
    }
    let (mut ranks, mut below) = (0.0, 0.0);
    for equal in samples.chunk_by(|a, b| a.0 == b.0) {
        let of_class = equal.iter().filter(|sample| sample.1).count() as f64;
        ranks += of_class * (below + (equal.len() as f64 + 1.0) / 2.0);
        below += equal.len() as f64;
    }
    Some((ranks - positive * (positive + 1.0) / 2.0) / (positive * negative))
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

/// Position of the code nearest to a value; the first of equally near ones.
fn nearest(codes: &[f64], value: f64) -> usize {
    let distance = |n: &usize| libm::fabs(codes[*n] - value);
    (0..codes.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
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

    fn numbers(loss: f64, r2: f64, mae: f64) -> Metrics {
        Metrics { loss, r2: Some(r2), mae: Some(mae), ..Metrics::default() }
    }

    fn classes(loss: f64, accuracy: f64, f1: f64, auc: Option<f64>) -> Metrics {
        Metrics { loss, accuracy: Some(accuracy), f1: Some(f1), auc, ..Metrics::default() }
    }

    #[test]
    fn perfect_and_mean_predictions() {
        let labels: [&[f64]; 2] = [&[1.0], &[3.0]];
        let scale = Scale { units: &[10.0], ..Scale::default() };
        let squared = |h: [f64; 2]| judged(Library::Squared, &[vec![h[0]], vec![h[1]]], &labels, scale);
        assert_eq!(squared([1.0, 3.0]), numbers(0.0, 1.0, 0.0));
        assert_eq!(squared([2.0, 2.0]), numbers(100.0, 0.0, 10.0));
        let absolute = judged(Library::Absolute, &[vec![2.0], vec![2.5]], &labels, scale);
        assert_eq!(absolute, numbers(7.5, 0.375, 7.5));
        let huber = judged(Library::Huber, &[vec![4.0], vec![2.5]], &labels, Scale::default());
        assert_eq!(huber.loss, (2.5 + 0.125) / 2.0);
    }

    #[test]
    fn losses_of_classes() {
        let codes = |codes| Scale { codes, ..Scale::default() };
        // Both are taken for the larger label: precision 1/2, recall 1; equal scores tell nothing.
        let hinge = judged(Library::Hinge, &[vec![0.5], vec![0.5]], &[&[1.0], &[-1.0]], codes(&[-1.0, 1.0]));
        assert_eq!(hinge, classes(1.0, 0.5, 2.0 / 3.0, Some(0.5)));
        let logistic = judged(Library::Logistic, &[vec![1.0], vec![0.0]], &[&[1.0], &[0.0]], codes(&[0.0, 1.0]));
        assert_eq!(logistic, classes(0.0, 1.0, 1.0, Some(1.0)));
        let predictions = [vec![9.0, 0.25, 0.5], vec![9.0, 0.5, 0.25]];
        let labels: [&[f64]; 2] = [&[0.0, 0.0, 1.0], &[0.0, 0.0, 1.0]];
        let scale = Scale { classes: Classes { first: 1, count: 2 }, ..Scale::default() };
        let one_hot = judged(Library::OneHot, &predictions, &labels, scale);
        // One of two positives is found, none is wrongly found; there is no sample of the other class to score against. The loss is a cross
        // entropy per class: of 3/4 and 1/2, and of 1/2 and 1/4.
        let loss = ((8.0f64 / 3.0).ln() + 8.0f64.ln()) / 2.0;
        assert!((one_hot.loss - loss).abs() < 1e-15, "{one_hot:?}");
        assert_eq!(one_hot, classes(one_hot.loss, 0.5, 2.0 / 3.0, None));
        let entropy = judged(Library::CrossEntropy, &predictions[..1], &labels[..1], scale);
        assert_eq!(entropy, classes(std::f64::consts::LN_2, 1.0, 1.0, None));
    }

    /// Values of scikit-learn 1.9.1: `f1_score`, `roc_auc_score`, `confusion_matrix`; three classes with `average="macro", multi_class="ovr"`.
    #[test]
    fn scores_are_those_of_scikit_learn() {
        let truth = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0];
        let scores = [0.1, 0.4, 0.35, 0.8, 0.8, 0.2, 0.9, 0.6];
        let labels: Vec<&[f64]> = truth.iter().map(std::slice::from_ref).collect();
        let predictions: Vec<Vec<f64>> = scores.iter().map(|&score| vec![score]).collect();
        let scale = Scale { codes: &[0.0, 1.0], ..Scale::default() };
        let found = judged(Library::Logistic, &predictions, &labels, scale);
        assert_eq!(found.accuracy, Some(0.625));
        assert!((found.f1.unwrap() - BINARY_F1).abs() < 1e-12, "{found:?}");
        assert!((found.auc.unwrap() - BINARY_AUC).abs() < 1e-12, "{found:?}");
        let two = confusion(&Measure::Library(Library::Logistic), &predictions, &labels, scale);
        assert_eq!(two, Some(vec![vec![2, 1], vec![2, 3]]));

        let classes = [0, 1, 2, 2, 1, 0];
        let scores: [[f64; 3]; 6] =
            [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.1, 0.5, 0.4], [0.5, 0.3, 0.2], [0.6, 0.1, 0.3]];
        let one_hot: Vec<[f64; 3]> = classes.iter().map(|&class| [0, 1, 2].map(|c| f64::from(c == class))).collect();
        let labels: Vec<&[f64]> = one_hot.iter().map(|label| &label[..]).collect();
        let predictions: Vec<Vec<f64>> = scores.iter().map(|score| score.to_vec()).collect();
        let scale = Scale { classes: Classes { first: 0, count: 3 }, ..Scale::default() };
        let found = judged(Library::CrossEntropy, &predictions, &labels, scale);
        assert!((found.f1.unwrap() - MACRO_F1).abs() < 1e-12, "{found:?}");
        assert!((found.auc.unwrap() - MACRO_AUC).abs() < 1e-12, "{found:?}");
        let three = confusion(&Measure::Library(Library::CrossEntropy), &predictions, &labels, scale);
        assert_eq!(three, Some(vec![vec![2, 0, 0], vec![1, 1, 0], vec![0, 1, 1]]));
    }

    const BINARY_F1: f64 = 2.0 / 3.0;
    const BINARY_AUC: f64 = 23.0 / 30.0;
    const MACRO_F1: f64 = 59.0 / 90.0;
    const MACRO_AUC: f64 = 11.0 / 12.0;

    #[test]
    fn labels_without_names_are_no_classes() {
        let found = judged(Library::Logistic, &[vec![1.0], vec![0.5]], &[&[1.0], &[0.0]], Scale::default());
        assert_eq!((found.accuracy, found.f1, found.auc), (Some(0.5), None, None));
        let none = confusion(&Measure::Library(Library::Logistic), &[vec![1.0]], &[&[1.0]], Scale::default());
        assert_eq!(none, None);
    }

    #[test]
    fn a_scalar_is_its_own_loss() {
        let metrics = judge(&Measure::Scalar("e".to_owned()), &[vec![1.0], vec![2.0]], &[], Scale::default());
        assert_eq!(metrics, Metrics { loss: 1.5, ..Metrics::default() });
    }

    /// By hand.
    #[test]
    fn losses_of_numbers() {
        let loss = |loss, h: f64, y: f64| judged(loss, &[vec![h]], &[&[y]], Scale::default()).loss;
        for (h, y, expected) in [(0.25, 1.0, 0.75), (0.25, -1.0, 1.25), (0.25, 2.0, 0.5), (2.0, 1.0, 0.0)] {
            assert_eq!(loss(Library::Hinge, h, y), expected, "{h} for {y}");
        }
        assert_eq!(loss(Library::Poisson, 1.0, 3.0), 1.0);
        assert!((loss(Library::Poisson, 2.0, 3.0) - (2.0 - 3.0 * std::f64::consts::LN_2)).abs() < 1e-15);
        // Errors of 1 and 3 in two targets.
        let found = judged(Library::Squared, &[vec![2.0, 7.0]], &[&[1.0, 4.0]], Scale::default());
        assert_eq!((found.loss, found.mae), (10.0, Some(2.0)));
    }

    /// Of equal scores the first class is taken. Of two classes behind an element that is none the second is judged by its rank.
    #[test]
    fn classes_are_told_by_their_scores() {
        let scale = Scale { classes: Classes { first: 1, count: 2 }, ..Scale::default() };
        let labels: [&[f64]; 4] = [&[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]];
        let predictions = [vec![9.0, 0.5, 0.5], vec![9.0, 0.1, 0.9], vec![9.0, 0.2, 0.7], vec![9.0, 0.55, 0.6]];
        let measure = Measure::Library(Library::CrossEntropy);
        assert_eq!(confusion(&measure, &predictions, &labels, scale), Some(vec![vec![1, 1], vec![0, 2]]));
        // Of the four pairs 0.9 beats both, and 0.6 one.
        assert_eq!(judge(&measure, &predictions, &labels, scale).auc, Some(0.75));
    }

    #[test]
    fn labels_without_names_are_right_or_wrong() {
        let predictions = [vec![1.0], vec![0.0], vec![1.0]];
        let found = judged(Library::Logistic, &predictions, &[&[1.0][..]; 3], Scale::default());
        assert_eq!(found.accuracy, Some(2.0 / 3.0));
        assert!((found.loss + SMALLEST_PROBABILITY.ln() / 3.0).abs() < 1e-12, "{found:?}");
    }

    /// Of 20,000 classes a number for each pair would take 3.2 GB.
    #[test]
    fn many_classes_are_judged_without_their_pairs() {
        let count = 20_000;
        let sample = |class: usize| (0..count).map(|n| f64::from(u8::from(n == class))).collect::<Vec<f64>>();
        let (predictions, own) = ([sample(7), sample(19_999)], [sample(7), sample(8)]);
        let labels: Vec<&[f64]> = own.iter().map(Vec::as_slice).collect();
        let scale = Scale { classes: Classes { first: 0, count }, ..Scale::default() };
        let found = judged(Library::CrossEntropy, &predictions, &labels, scale);
        assert_eq!((found.accuracy, found.f1), (Some(0.5), Some(1.0 / 20_000.0)));
        let measure = Measure::Library(Library::CrossEntropy);
        assert_eq!(confusion(&measure, &predictions, &labels, scale), None);
    }
}

//! Derived gradients against dual numbers of the source: along any direction of the weights, the slope of what is minimised is the sum of
//! gradient times direction. At kinks, too: equal values are where a maximum must choose.

use crate::derived::{differences, functions, minimised, written};
use crate::generator::{self, tape};
use crate::losses::golden;
use crate::made_up;
use compiler::derived::losses::Loss;
use compiler::derived::training::{Measure, Minimised, Training};
use compiler::derived::{Objective, derive, optimisers::Optimiser};
use compiler::language::{self, Language, Options};
use compiler::rounding::Rounding;
use compiler::tensor::{Program, Role, TensorId};
use sim::ladder::NamedValues;
use sim::plain::duals::Duals;

/// Directions for each program.
const DIRECTIONS: usize = 3;

/// What has been compared.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    pub(crate) programs: usize,
    /// Programs with a slope that is no number, such as that of a root at 0.
    pub(crate) undefined: usize,
    /// Programs whose slopes are all 0.
    pub(crate) flat: usize,
    pub(crate) largest: f64,
}

impl Compared {
    /// Derive a program, and compare.
    pub(crate) fn check(&mut self, name: &str, source: &Program, objective: &Objective, values: &NamedValues) {
        let derived = derive(source, objective).unwrap_or_else(|errors| panic!("{name}: {errors:?}\n{source}"));
        if let Err(why) = self.compare(source, objective, &derived, values) {
            panic!("{name}: {why}\n{source}\nderived:\n{derived}");
        }
    }

    /// The gradients of a derived program with slopes of its source.
    pub(crate) fn compare(
        &mut self,
        source: &Program,
        objective: &Objective,
        derived: &Program,
        values: &NamedValues,
    ) -> Result<(), String> {
        self.programs += 1;
        let golden = golden(derived, values);
        let gradient = |weight: TensorId| -> Vec<f64> {
            let of_weight = |(id, tensor): (usize, &compiler::tensor::Tensor)| {
                (tensor.role == Role::Gradient(weight)).then_some(TensorId(id))
            };
            let id = derived.tensors.iter().enumerate().filter_map(of_weight).next_back().expect("a gradient");
            golden.value(id).map(|value| value.unwrap_or(0.0)).collect()
        };
        let gradients: Vec<Vec<f64>> = objective.weights.iter().map(|&weight| gradient(weight)).collect();
        let mut flat = true;
        for direction in 0..DIRECTIONS {
            let mut duals = Duals::new(source, &objective.weights);
            for (name, values) in values {
                let id = source.tensors.iter().position(|t| t.name == *name).expect("it is there");
                duals.set(TensorId(id), values, None);
            }
            let (mut expected, mut scale) = (0.0, 1.0);
            for (number, (&weight, gradient)) in objective.weights.iter().zip(&gradients).enumerate() {
                let angle = |k: usize| (1 + k + 100 * number + 10_000 * direction) as f64;
                let slopes: Vec<f64> = (0..gradient.len()).map(|k| libm::sin(1.7 * angle(k))).collect();
                expected += slopes.iter().zip(gradient).map(|(a, b)| a * b).sum::<f64>();
                scale += gradient.iter().map(|g| g.abs()).sum::<f64>();
                duals.set(weight, &values[&source.tensors[weight.0].name], Some(&slopes));
            }
            duals.step();
            let found = duals.of(objective.value)[0].expect("a value").slope;
            if !found.is_finite() {
                self.undefined += 1;
                return Ok(());
            }
            flat &= found == 0.0;
            let error = (found - expected).abs() / scale;
            if error.is_nan() || error > 1e-9 {
                return Err(format!("the slope is {found}, gradients say {expected} in direction {direction}"));
            }
            self.largest = self.largest.max(error);
        }
        self.flat += usize::from(flat);
        Ok(())
    }
}

fn together((model, sample): (NamedValues, NamedValues)) -> NamedValues {
    model.into_iter().chain(sample).collect()
}

/// Equal values: every element is one of three, so that extremes have several.
fn tied(values: &NamedValues) -> NamedValues {
    let tie = |value: &f64| libm::round(*value).clamp(-1.0, 1.0) * 0.5;
    values.iter().map(|(name, values)| (name.clone(), values.iter().map(tie).collect())).collect()
}

/// A label that adds up to 1, as cross entropies want it.
fn one_hot(label: &mut [f64]) {
    label.iter_mut().enumerate().for_each(|(n, value)| *value = f64::from(n == 2));
}

/// Every program of `programs/` that minimises something, however it is said.
#[test]
fn written_programs_have_the_slopes_of_duals() {
    let mut compared = Compared::default();
    for (name, text) in
        crate::derived::WRITTEN.iter().flat_map(|known| minimised(known.0).into_iter().map(|t| (known.0, t)))
    {
        let (source, objective) = language::source(Language::Tabla, &text, &Options::default()).expect(name);
        let mut values = together(crate::derived::values(&source, 1));
        if name == "softmax.t" {
            one_hot(values.get_mut("y").expect("a label"));
        }
        compared.check(name, &source, &objective.expect(name), &values);
    }
    let networks: [(&str, Loss, &str, &[&str]); 3] = [
        ("lenet.tc", Loss::CrossEntropy, "P", &["K1", "B1", "K2", "B2", "D", "B3"]),
        ("kernels/mlp.tc", Loss::Squared, "Y", &["W1", "B1", "W2", "B2", "W3", "B3"]),
        ("kernels/gru.tc", Loss::Squared, "NH", &["WZ", "UZ", "BZ", "WR", "UR", "BR", "WN", "UN", "BN"]),
    ];
    for (file, loss, prediction, weights) in networks {
        let objective = Minimised {
            loss: Measure::Library(loss),
            prediction: prediction.to_owned(),
            label: None,
            weights: weights.iter().map(|&name| name.to_owned()).collect(),
            rate: Some(0.07),
        };
        let training =
            Some(Training { objective: Some(objective), optimiser: Optimiser::PLAIN, rounding: Rounding::default() });
        let options = Options { training, ..Options::default() };
        let (source, objective) = language::source(Language::TensorComprehensions, &written(file), &options)
            .unwrap_or_else(|e| panic!("{e:?}"));
        let mut values = together(crate::derived::values(&source, 1));
        if loss == Loss::CrossEntropy {
            one_hot(values.get_mut("label").expect("a label"));
        }
        compared.check(file, &source, &objective.expect(file), &values);
    }
    println!("{compared:?}");
    assert_eq!((compared.undefined, compared.flat), (0, 1), "svm_published's slope is 0: {compared:?}");
}

/// Random programs of TABLA and of tensor IR, with values as they come and with many equal ones.
#[test]
fn random_programs_have_the_slopes_of_duals() {
    let mut compared = Compared::default();
    let mut check = |name: &str, program: &Program, model: &NamedValues, sample: &NamedValues| {
        for tie in [false, true] {
            let (model, sample) = if tie { (tied(model), tied(sample)) } else { (model.clone(), sample.clone()) };
            let Some((source, objective)) = differences::with_sum(program, &model, &sample) else { continue };
            let Some(objective) = differences::trainable(&source, objective) else { continue };
            let values = together((model, sample));
            compared.check(&format!("{name}, ties: {tie}"), &source, &objective, &values);
        }
    };
    for number in 0..150 {
        let (program, model, samples) = generator::ir::program(&tape::random(31, number, 120));
        check(&format!("tensor IR {number}"), &program, &model, &samples[0]);
        let text = generator::program(&tape::random(32, number, 150));
        if let Ok((program, _)) = language::parse(Language::Tabla, &text.text, &Options::default()) {
            check(&format!("TABLA {number}"), &program, &text.model, &text.samples[0]);
        }
    }
    println!("{compared:?}");
    assert!(compared.programs >= 250 && 10 * compared.undefined < compared.programs, "{compared:?}");
}

/// A gradient that goes to the last of equal elements is noticed.
#[test]
fn another_choice_is_noticed() {
    let text = "def f(float(4) W) -> (L) { M max=! W(i) * W(i)\n L = M * M }";
    let (loss, weights) = (Measure::Scalar("L".to_owned()), vec!["W".to_owned()]);
    let objective = Minimised { loss, prediction: String::new(), label: None, weights, rate: None };
    let training =
        Some(Training { objective: Some(objective), optimiser: Optimiser::PLAIN, rounding: Rounding::default() });
    let (source, objective) =
        language::source(Language::TensorComprehensions, text, &Options { training, ..Options::default() }).unwrap();
    let objective = objective.unwrap();
    let values = NamedValues::from([("W".to_owned(), vec![0.5, -1.0, 1.0, 0.25])]);
    let mut derived = derive(&source, &objective).unwrap();
    assert_eq!(Compared::default().compare(&source, &objective, &derived, &values), Ok(()));
    for nest in derived.nests.iter_mut().filter(|nest| nest.aggregate == compiler::tensor::Aggregate::Min) {
        nest.aggregate = compiler::tensor::Aggregate::Max;
    }
    assert!(Compared::default().compare(&source, &objective, &derived, &values).is_err());
}

#[test]
fn functions_have_the_slopes_of_duals() {
    let mut compared = Compared::default();
    for given in functions() {
        let (source, objective) = crate::derived::source(&given).unwrap_or_else(|errors| panic!("{errors:?}"));
        let (mut model, mut sample) = made_up::values(&source, 1, 1);
        for value in model.values_mut().chain(sample[0].values_mut()).flatten() {
            *value = 1.7 * *value + 0.0123 * libm::sin(57.0 * *value);
        }
        model.entry("V".to_owned()).and_modify(|values| values.iter_mut().for_each(|v| *v = 1.2 + v.abs()));
        sample[0].entry("I".to_owned()).and_modify(|values| values.clone_from(&vec![3.0, 0.0, 1.0, 3.0, 2.0]));
        sample[0].entry("label".to_owned()).and_modify(|label| one_hot(label));
        compared.check(given.0, &source, &objective, &together((model, sample.remove(0))));
    }
    assert_eq!((compared.programs, compared.undefined), (6, 0), "{compared:?}");
}

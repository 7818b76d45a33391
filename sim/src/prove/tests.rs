//! Terms against hand calculation, against the array, and on a grid that is broken.

use super::difference::Listing;
use super::expected::Expected;
use super::symbols::Symbols;
use super::terms::{Node, Term, Terms};
use super::{Verdict, prove_on};
use crate::array::Array;
use crate::driver::{Driver, Run};
use crate::eval::with_shapes_of;
use crate::grid::Stalls;
use crate::ladder::{Climb, NamedValues as Reals};
use arch::isa::{Combine, Finish};
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::language::{self, Language};
use compiler::tensor::Role;
use std::cell::RefCell;
use std::rc::Rc;

/// Programs that use every kind of term: products of weights, tables, quotients, comparisons, extremes, squares, chains of products.
const PROGRAMS: &[(Language, &str, u32)] = &[
    (
        Language::Tabla,
        "model_input x[5];\nmodel_output y;\nmodel w[5];\ngradient g[5] -> w;\niterator i[0:5];\nmu = 0.1;\n\
         h = sigmoid(sum[i](w[i] * x[i]));\nc = h < y;\ng[i] = (h - y) * x[i] + c * w[i];\n",
        1,
    ),
    (
        Language::Tabla,
        "model_input x[3];\nmodel_output y;\nmodel w[3];\ngradient g[3] -> w;\niterator i[0:3];\nmu = 0.1;\n\
         p = pi[i](w[i] + x[i]);\ng[i] = (p - y) * gaussian(w[i]);\n",
        1,
    ),
    (
        Language::TensorComprehensions,
        "def f(float(N) X, float(N) W) -> (m, Q, S) {\n  m max=! X(i) * W(i)\n  Q(i) = X(i) / (m + 3.0)\n  \
         S(i) = exp(Q(i) - m) * W(i)\n}",
        1,
    ),
    (
        Language::TensorComprehensions,
        "def f(float(N) X, float(N) W) -> (S, m) {\n  S +=! (X(i) - W(i)) * (X(i) - W(i))\n  \
         m max=! (X(i) - 0.25) * (X(i) - 0.25)\n}",
        1,
    ),
    (
        Language::Tabla,
        "model_input x[9];\nmodel_output y;\nmodel w[9];\ngradient g[9] -> w;\niterator i[0:9];\nmu = 0.1;\n\
         h = sum[i](w[i] * x[i]);\ng[i] = (h - y) * x[i];\n",
        12,
    ),
];

/// The programs on two small grids, the last one in tiles.
fn climbs() -> Vec<Climb> {
    let mut climbs = Vec::new();
    for &(language, text, batch) in PROGRAMS {
        let shapes = serde_json::json!({ "X": vec![0; 6], "W": vec![0; 6] });
        let options = with_shapes_of(&shapes, language::Options::default());
        let (program, _) = language::parse(language, text, &options).unwrap_or_else(|errors| panic!("{errors:?}"));
        let (mut model, mut steps) = (Reals::new(), vec![Reals::new(); 2]);
        for (salt, tensor) in program.tensors.iter().enumerate() {
            let elements = tensor.shape.iter().product::<u32>();
            let values = |count: u32, salt: usize| -> Vec<f64> {
                (0..count as usize).map(|k| ((k * 37 + salt * 101) % 64) as f64 / 64.0 - 0.4).collect()
            };
            match tensor.role {
                Role::State => drop(model.insert(tensor.name.clone(), values(elements, salt))),
                Role::Input | Role::Label => {
                    for (n, step) in steps.iter_mut().enumerate() {
                        step.insert(tensor.name.clone(), values(elements * batch, salt + 7 * n));
                    }
                }
                _ => {}
            }
        }
        for (pus, pes_per_pu) in [(1, 2), (2, 2)] {
            let spec = MachineSpec {
                pus: Some(pus),
                pes_per_pu: Some(pes_per_pu),
                data_depth: (batch > 1).then_some(32),
                divider: Some(true),
                extremes: Some(true),
                squares: Some(true),
                ..MachineSpec::default()
            };
            let batch = Batch { size: batch, reduction: Reduction::Mean };
            let training = Keep::Training { predictions: vec![] };
            let keep = if language == Language::Tabla { training } else { Keep::AllNames };
            let options = Options { keep, batch };
            let climb = Climb::new(&program, &options, &model, &steps, &spec);
            climbs.push(climb.unwrap_or_else(|errors| panic!("{errors:?}\n{text}")));
        }
    }
    climbs
}

/// Every word that leaves the array is its term, evaluated at the words that went in.
#[test]
fn terms_are_worth_what_the_array_computes() {
    let mut words = 0;
    for climb in climbs() {
        let image = climb.image();
        let run = Run { emit_model: true, ..climb.first_steps(2) };
        let numbers = Driver::new(Array::new(&image.machine), image.clone(), Stalls::none()).run(run).expect("it runs");
        let shared = Rc::new(RefCell::new(Terms::new(image.machine.word(), image.machine.accumulator())));
        let expected = Expected::of(&climb.fixed, image, 2, &mut Symbols(shared.clone()));
        let grid = Array::of(&image.machine, Symbols(shared.clone()));
        let symbolic = Run { load_model: Some(&expected.model), steps: &expected.inputs, emit_model: true };
        let symbols = Driver::new(grid, image.clone(), Stalls::none()).run(symbolic).expect("it runs");
        assert_eq!(symbols.cycles, numbers.cycles, "control does not look at words");
        let terms = shared.borrow();
        let all: Vec<Term> = symbols.raw.iter().map(|&number| Term(number as u32)).collect();
        let evaluated = terms.evaluate(&all, &mut |term| {
            let Node::Given { tensor, element, step } = terms.node(term) else { panic!("{:?}", terms.node(term)) };
            let name = &climb.fixed.tensors[tensor as usize].name;
            let stream = image.tensors.iter().position(|stream| stream.name == *name).expect("it is sent");
            let words = if step == 0 { run.load_model.expect("weights") } else { &run.steps[step as usize - 1] };
            words[stream][element as usize]
        });
        assert_eq!(evaluated, numbers.raw, "{:?}", climb.fixed.names);
        words += evaluated.len();
    }
    assert!(words > 50, "{words} words");
}

#[test]
fn swapped_banks_are_refuted() {
    for climb in climbs() {
        let image = climb.image();
        let verdict = |swapped: bool| {
            prove_on(&climb.fixed, Listing { image, source: "" }, 2, &mut |_, _| true, |symbols| {
                let machine = &image.machine;
                if swapped { Array::with_swapped_banks(machine, symbols) } else { Array::of(machine, symbols) }
            })
        };
        assert!(matches!(verdict(false), Verdict::Proven(_)), "{}", verdict(false));
        let Verdict::Refuted(difference) = verdict(true) else { panic!("{}", verdict(true)) };
        assert!(!difference.instructions.is_empty(), "{difference}");
    }
}

/// Words that are equal have one number, and no others.
#[test]
fn terms_keep_the_laws_of_their_numbers() {
    let mut terms = Terms::new(16, 40);
    let [x, y, z] = [0, 1, 2].map(|element| terms.given(0, element, 1));
    let mut sum = |parts: &[(Term, Term, i128)]| {
        let parts: Vec<_> = parts.iter().filter_map(|&(a, b, times)| terms.product(a, b, times)).collect();
        let id = terms.sums.linear(&parts);
        terms.finish(id, Finish::Round, 4)
    };
    assert_eq!(sum(&[(x, y, 1), (z, z, 1), (x, y, 1)]), sum(&[(z, z, 1), (y, x, 2)]), "in any order");
    assert_eq!(sum(&[(x, y, 3), (x, z, 1), (y, x, -3)]), sum(&[(x, z, 1)]), "what cancels is gone");
    assert_eq!(sum(&[(x, y, (1 << 40) + 1)]), sum(&[(x, y, 1)]), "modulo 2^40");
    assert_ne!(sum(&[(x, y, 1), (z, z, 1)]), sum(&[(x, z, 1), (y, z, 1)]));
    let nothing = sum(&[]);
    assert_eq!(terms.value(nothing), Some(0));
    let [three, five] = [3, 5].map(|word| terms.constant(word));
    let mut finish = |parts: &[(Term, Term, i128)], finish, shift| {
        let parts: Vec<_> = parts.iter().filter_map(|&(a, b, times)| terms.product(a, b, times)).collect();
        let id = terms.sums.linear(&parts);
        terms.finish(id, finish, shift)
    };
    // 3 * 5 * 10 / 4 = 37.5, to even; 150 is not negative.
    let rounded = finish(&[(three, five, 10)], Finish::Round, 2);
    let negative = finish(&[(three, five, -10)], Finish::Negative, 2);
    let one = finish(&[(three, x, 1), (x, five, -1), (x, three, 1)], Finish::Round, 0);
    assert_eq!(one, x, "3x - 5x + 3x is x");
    assert_eq!((terms.value(rounded), terms.value(negative)), (Some(38), Some(1)));
    for (align, shift, same) in [(12, 12, true), (12, 11, false), (24, 24, true), (25, 25, false)] {
        let parts: Vec<_> = terms.shifted(x, align).into_iter().collect();
        let id = terms.sums.linear(&parts);
        assert_eq!(terms.finish(id, Finish::Round, shift) == x, same, "x << {align} >> {shift} in 40 bits");
    }
    let [a, b] = [x, y].map(|word| {
        let parts: Vec<_> = terms.product(word, z, 1).into_iter().collect();
        terms.sums.linear(&parts)
    });
    let mut best =
        |combine, of: &[super::sums::SumId]| terms.sums.close(&super::sums::Open::Extreme(combine, of.to_vec()));
    assert_eq!(best(Combine::Maximum, &[a, b, a]), best(Combine::Maximum, &[b, a]));
    assert_ne!(best(Combine::Maximum, &[a, b]), best(Combine::Minimum, &[a, b]));
    assert_eq!(best(Combine::Minimum, &[a, a]), a);
    let [low, high] = [-(1 << 39), 7].map(|value| terms.sums.of_constant(value));
    let mut best =
        |of: &[super::sums::SumId]| terms.sums.close(&super::sums::Open::Extreme(Combine::Maximum, of.to_vec()));
    assert_eq!((best(&[low, a]), best(&[low, high]), best(&[])), (a, high, low), "the lowest sum changes nothing");
    let [zero, either] = [Term::default(), terms.either(x, y)];
    assert_eq!((terms.either(y, x), terms.either(x, zero), terms.either(zero, x)), (either, x, x));
}

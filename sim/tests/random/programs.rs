//! Random programs: canonical form means the same, fixed-point form is close, sums do not depend on their order.

use arch::isa::{Combine, UNLIMITED};
use arch::number::{round_half_even, saturate, wrap};
use compiler::canonical::padding::{self, Padding};
use compiler::canonical::{Batch, Keep, Options as CanonicalOptions, canonicalise};
use compiler::fixed::{self, Finish, Kind, Numbers, Operand, Operation};
use compiler::language::{Language, Options, parse};
use compiler::ranges::Ranges;
use compiler::tensor::{
    Affine, Aggregate, Body, Element, Guard, IterId, Iterator, Nest, Node, Program, Role, Start, Tensor, TensorId,
};
use proptest::prelude::*;
use sim::fixed::Fixed;
use sim::golden::Golden;

/// A value that may mention iterator `i`, of at most the given depth. `functions`: with comparisons and functions.
fn expression(depth: u32, names: Vec<String>, functions: bool) -> BoxedStrategy<String> {
    let constant = prop_oneof![Just("1"), Just("2"), Just("0.5"), Just("0.75"), Just("0"), Just("3")];
    let leaf = prop_oneof![3 => proptest::sample::select(names), 1 => constant.prop_map(str::to_string)];
    leaf.prop_recursive(depth, 12, 2, move |inner| {
        let arithmetic = (inner.clone(), proptest::sample::select(vec!["+", "-", "*", "*"]), inner.clone())
            .prop_map(|(a, operator, b)| format!("({a} {operator} {b})"));
        let complement = (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} * (1 - {b}))"));
        let negation = inner.clone().prop_map(|a| format!("(0 - {a})"));
        if functions {
            let compared = (inner.clone(), proptest::sample::select(vec!["<", ">"]), inner.clone())
                .prop_map(|(a, operator, b)| format!("({a} {operator} {b})"));
            let called = (proptest::sample::select(vec!["sigmoid", "sigmoid_symmetric", "gaussian"]), inner)
                .prop_map(|(f, a)| format!("{f}({a})"));
            prop_oneof![4 => arithmetic, 1 => complement, 1 => negation, 1 => compared, 1 => called].boxed()
        } else {
            prop_oneof![4 => arithmetic, 1 => complement, 1 => negation].boxed()
        }
    })
    .boxed()
}

/// A training step: vectors and scalars defined one after the other, a gradient made of them.
fn program(functions: bool) -> impl Strategy<Value = String> {
    let names = |vectors: &[&str], scalars: &[&str]| {
        vectors.iter().map(|v| format!("{v}[i]")).chain(scalars.iter().map(|s| (*s).to_string())).collect::<Vec<_>>()
    };
    let first = expression(3, names(&["x", "v", "w"], &["y"]), functions);
    let sum = expression(3, names(&["x", "w", "t"], &["y"]), functions);
    let second = expression(3, names(&["x", "t", "w"], &["s", "y"]), functions);
    let scalar = expression(3, names(&[], &["s", "y", "n"]), functions);
    let gradient = expression(3, names(&["x", "u", "t"], &["s", "d"]), functions);
    let rate = proptest::sample::select(vec!["0.5", "0.25", "0.3", "1"]);
    (first, sum, second, scalar, gradient, rate).prop_map(|(first, sum, second, scalar, gradient, rate)| {
        format!(
            "mu = {rate};\nmodel_input x[4], v[4];\nmodel_output y;\nmodel w[4];\ngradient g[4] -> w;\niterator i[0:4]; iterator k[1:3];\n\
             t[i] = {first};\ns = sum[i]({sum});\nn = norm[k](x[k] + t[k]);\nu[i] = {second};\nd = {scalar};\ng[i] = {gradient};\n"
        )
    })
}

fn set_inputs(program: &Program, eighths: &[i32], golden: &mut Golden) {
    let mut values = eighths.iter().cycle().map(|&v| f64::from(v) / 8.0);
    for (id, tensor) in program.tensors.iter().enumerate() {
        if matches!(tensor.role, Role::Input | Role::Label | Role::State) {
            let count = tensor.shape.iter().map(|&n| n as usize).product();
            golden.set(TensorId(id), &values.by_ref().take(count).collect::<Vec<f64>>());
        }
    }
}

fn find(program: &Program, name: &str) -> TensorId {
    TensorId(program.tensors.iter().position(|t| t.name == name).expect("a tensor of this name"))
}

fn eighths() -> impl Strategy<Value = Vec<i32>> {
    proptest::collection::vec(-8..=8i32, 13)
}

fn canonical(source: &Program, keep: Keep) -> Program {
    let result = canonicalise(source, &CanonicalOptions { keep, batch: Batch::SINGLE }).expect("one sample");
    compiler::tensor::verify(&result);
    result
}

/// The program on vectors of eight elements instead of four; iterators run on where the analysis calls that harmless.
fn pad(program: &Program, padding: &Padding) -> Program {
    let mut padded = program.clone();
    for tensor in &mut padded.tensors {
        tensor.shape.iter_mut().for_each(|extent| *extent = extent.next_multiple_of(8));
    }
    for (nest, harmless) in padded.nests.iter_mut().zip(&padding.nests) {
        for (iterator, harmless) in nest.iterators.iter_mut().zip(harmless) {
            if *harmless {
                iterator.high = 8;
            }
        }
    }
    padded
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn canonical_form_means_the_same(text in program(true), eighths in eighths()) {
        let (source, _) = parse(Language::Tabla, &text, &Options::default()).expect("a good program");
        let mut golden = Golden::new(&source);
        set_inputs(&source, &eighths, &mut golden);
        golden.step().expect("no value errors");
        for keep in [Keep::AllNames, Keep::Training { predictions: vec!["s".into(), "d".into()] }] {
            let program = canonical(&source, keep);
            let mut other = Golden::new(&program);
            set_inputs(&program, &eighths, &mut other);
            other.step().expect("no value errors");
            let weights = (find(&source, "w"), find(&program, "w"));
            let named = program.names.iter().map(|(name, id)| {
                (source.names.iter().find(|(n, _)| n == name).expect("the same names").1, *id)
            });
            for (a, b) in named.chain([weights]) {
                for (a, b) in golden.value(a).zip(other.value(b)) {
                    let (a, b) = (a.expect("defined"), b.expect("defined"));
                    prop_assert!((a - b).abs() <= 1e-9 * a.abs().max(1.0), "{a} became {b} in\n{text}\n{program}");
                }
            }
        }
    }

    #[test]
    fn fixed_point_form_is_close(text in program(false), eighths in eighths(), word in 16..=24u32) {
        let (source, _) = parse(Language::Tabla, &text, &Options::default()).expect("a good program");
        for keep in [Keep::AllNames, Keep::Training { predictions: vec!["s".into()] }] {
            let program = canonical(&source, keep);
            let mut golden = Golden::new(&program);
            set_inputs(&program, &eighths, &mut golden);
            let start: Vec<Option<Vec<f64>>> =
                (0..program.tensors.len()).map(|id| golden.values(TensorId(id)).map(<[f64]>::to_vec)).collect();
            golden.step().expect("no value errors");
            let numbers = Numbers { headroom: 1, ..Numbers::of_width(word) };
            let largest = golden.ranges().tensors.iter().flatten().map(|r| r.0.abs().max(r.1.abs())).fold(1.0, f64::max);
            let lowered = match fixed::lower(&program, golden.ranges(), &numbers) {
                Ok((lowered, _)) => lowered,
                // Weights that explode in one step leave no bits for anything else.
                Err(errors) => {
                    prop_assert!(largest > 1000.0, "{errors:?} in\n{text}\n{program}");
                    continue;
                }
            };
            let mut engine = Fixed::new(&lowered);
            for (id, tensor) in program.tensors.iter().enumerate() {
                if matches!(tensor.role, Role::Input | Role::Label | Role::State) {
                    let id_there = engine.tensor(&tensor.name).expect("the same name");
                    engine.set_real(id_there, start[id].as_ref().expect("set before"));
                }
            }
            engine.step();
            let coarsest = lowered.tensors.iter().map(|t| libm::ldexp(1.0, -t.fraction)).fold(0.0, f64::max);
            let weights = (find(&program, "w"), engine.tensor("w").expect("weights"));
            let names = program.names.iter().zip(&lowered.names).map(|(a, b)| (a.1, b.1));
            for (a, b) in names.chain([weights]) {
                for (a, b) in golden.value(a).zip(engine.values(b)) {
                    let a = a.expect("defined");
                    prop_assert!((a - b).abs() <= 8.0 * coarsest * largest, "{a} became {b} in\n{text}\n{program}\n{lowered}");
                }
            }
        }
    }

    /// The words of one multiply-add are the same in whatever order its products are added.
    #[test]
    fn the_order_of_a_sum_is_without_effect(
        words in proptest::collection::vec(-32768..=32767i64, 30),
        (rows, columns) in (1..=5u32, 1..=6u32),
        (align, shift) in (0..=20u32, 0..=30u32),
        (combine, square) in (proptest::sample::select(Combine::ALL.to_vec()), any::<bool>()),
        finish in proptest::sample::select(vec![Finish::Round, Finish::Positive(UNLIMITED), Finish::Positive(100), Finish::Negative]),
        accumulator in proptest::sample::select(vec![32u32, 48, 64, 80]),
    ) {
        // The square of a difference has two bits more than a product; what is compared has to fit (law 9).
        let square = square && accumulator > 32;
        let tensor = |name: &str, shape: &[u32], role| fixed::Tensor {
            name: name.into(), shape: shape.to_vec(), role, fraction: 0, columns: None,
            span: arch::Span::default(),
        };
        let (i, j) = (Affine::iterator(IterId(0)), Affine::iterator(IterId(1)));
        let read = |tensor: usize, index: &[&Affine]| Operand::Read {
            tensor: TensorId(tensor), index: index.iter().map(|&a| a.clone()).collect(),
        };
        let all = |n: u32| Iterator { name: "i".into(), low: 0, high: i64::from(n) };
        let program = fixed::Program {
            word: 16,
            accumulator,
            tensors: vec![
                tensor("a", &[rows, columns], fixed::Role::Input),
                tensor("b", &[columns], fixed::Role::Input),
                tensor("s", &[rows], fixed::Role::Input),
                tensor("o", &[rows], fixed::Role::Output),
            ],
            operations: vec![Operation {
                iterators: vec![all(rows), all(columns)],
                free: 1,
                out: TensorId(3),
                out_index: vec![i.clone()],
                kind: Kind::MultiplyAdd {
                    start: Some(read(2, &[&i])),
                    align,
                    product: Some((read(0, &[&i, &j]), read(1, &[&j]))),
                    square,
                    scale: 0,
                    combine,
                    shift,
                    finish,
                    bound: fixed::SumBound::Formats,
                },
                origin: arch::Origin::default(),
            }],
            tables: Vec::new(),
            names: Vec::new(),
        };
        let (rows, columns) = (rows as usize, columns as usize);
        let cycled = |from: usize, n: usize| (0..n).map(|k| words[(from + k) % words.len()]).collect::<Vec<i64>>();
        let (a, b, s) = (cycled(0, rows * columns), cycled(7, columns), cycled(13, rows));
        let mut engine = Fixed::new(&program);
        for (id, words) in [(0, &a), (1, &b), (2, &s)] {
            engine.set(TensorId(id), words);
        }
        engine.step();
        let mut saturations = 0;
        for row in 0..rows {
            // From the last product to the first, wrapping after each, the start at the end.
            let mut sum = combine.identity(accumulator);
            for column in (0..columns).rev() {
                let (a, b) = (i128::from(a[row * columns + column]), i128::from(b[column]));
                let product = if square { (a - b) * (a - b) } else { a * b };
                sum = match combine {
                    Combine::Subtract => wrap(sum - product, accumulator),
                    combine => wrap(combine.join(sum, product), accumulator),
                };
            }
            sum = wrap(combine.join(sum, i128::from(s[row]) << align), accumulator);
            let (word, saturated) = match finish {
                Finish::Round | Finish::Whole(_) => saturate(round_half_even(sum, shift), 16),
                Finish::Positive(limit) => {
                    let (word, saturated) = saturate(round_half_even(sum, shift), 16);
                    (if sum < 0 { 0 } else { word.min(limit.into()) }, saturated)
                }
                Finish::Negative => (i64::from(sum < 0), false),
            };
            saturations += u64::from(saturated);
            prop_assert_eq!(engine.words(TensorId(3))[row], word);
        }
        prop_assert_eq!(engine.computed().iter().map(|count| count.values).collect::<Vec<_>>(), [saturations]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// The array works on extents rounded up to its grid; where the analysis allows it, that changes nothing.
    #[test]
    fn padded_and_unpadded_programs_agree(text in program(true), eighths in eighths()) {
        let (source, _) = parse(Language::Tabla, &text, &Options::default()).expect("a good program");
        let program = canonical(&source, Keep::AllNames);
        let padding = padding::analyse(&program);
        let padded = pad(&program, &padding);
        let ranges = Ranges::of_tensors(vec![Some((-16.0, 16.0)); program.tensors.len()]);
        let lower = |program: &Program| fixed::lower(program, &ranges, &Numbers::of_width(16)).map(|lowered| lowered.0);
        let (Ok(plain), Ok(wide)) = (lower(&program), lower(&padded)) else { return Ok(()) };
        let (mut plain, mut wide) = (Fixed::new(&plain), Fixed::new(&wide));
        let mut values = eighths.iter().cycle().map(|&v| f64::from(v) / 8.0);
        for id in (0..plain.program().tensors.len()).map(TensorId) {
            if matches!(plain.program().tensors[id.0].role, fixed::Role::Input | fixed::Role::State) {
                let mut values: Vec<f64> = values.by_ref().take(plain.words(id).len()).collect();
                plain.set_real(id, &values);
                values.resize(wide.words(id).len(), 0.0);
                wide.set_real(id, &values);
            }
        }
        for _ in 0..2 {
            plain.step();
            wide.step();
        }
        for id in (0..plain.program().tensors.len()).map(TensorId) {
            let name = &plain.program().tensors[id.0].name;
            let (words, padded) = (plain.words(id), wide.words(id));
            prop_assert_eq!(&words[..], &padded[..words.len()], "{} in\n{}\n{}", name, text, program);
            let there = program.tensors.iter().position(|t| t.name == *name).expect("the same name");
            if padding.tensors[there] == [true] {
                let zero = padded[words.len()..].iter().all(|&word| word == 0);
                prop_assert!(zero, "{name} is not zero beyond its end: {padded:?} in\n{text}\n{program}");
            }
        }
    }
}

/// `o[i] (+)= a[c*i + d*j + e]` where the index lies inside, over boxes that leave the tensor.
fn guarded(sizes: (i64, i64, i64), form: (i64, i64, i64), second: (i64, i64, i64), aggregate: Aggregate) -> Program {
    let affine = |(c, d, e): (i64, i64, i64)| {
        Affine::constant(e).plus(c, &Affine::iterator(IterId(0))).plus(d, &Affine::iterator(IterId(1)))
    };
    let tensor = |name: &str, extent: i64, role: Role| Tensor {
        name: name.into(),
        shape: vec![extent as u32],
        role,
        element: Element::Real,
        span: arch::Span::default(),
    };
    let mut body = Body::default();
    body.push(Node::Read { tensor: TensorId(0), index: vec![affine(form)] });
    let all = |name: &str, n: i64| Iterator { name: name.into(), low: 0, high: n };
    let nest = Nest {
        iterators: vec![all("i", sizes.0), all("j", sizes.1)],
        free: 1,
        guards: vec![
            Guard::Within { value: affine(form), bound: sizes.2 },
            Guard::Within { value: affine(second), bound: sizes.2 },
        ],
        out: TensorId(1),
        out_index: vec![Affine::iterator(IterId(0))],
        aggregate,
        start: Start::Identity,
        body,
        origin: arch::Origin::default(),
    };
    Program {
        tensors: vec![tensor("a", sizes.2, Role::Input), tensor("o", sizes.0, Role::Output)],
        nests: vec![nest],
        names: vec![("o".into(), TensorId(1))],
        ..Program::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn conditions_become_bounds(
        sizes in (1..8i64, 1..5i64, 1..8i64),
        form in (-2..=2i64, -2..=2i64, -4..=4i64),
        second in (-1..=1i64, -1..=1i64, -2..=2i64),
        aggregate in proptest::sample::select(vec![Aggregate::Add, Aggregate::Max, Aggregate::Min, Aggregate::Mul]),
    ) {
        let program = guarded(sizes, form, second, aggregate);
        let canonical = canonical(&program, Keep::AllNames);
        let values: Vec<f64> = (0..sizes.2).map(|k| ((k * 7 + 3) % 11) as f64 - 4.0).collect();
        let (mut a, mut b) = (Golden::new(&program), Golden::new(&canonical));
        a.set(TensorId(0), &values);
        b.set(TensorId(0), &values);
        a.step().expect("no value errors");
        b.step().expect("no value errors");
        let (a, b): (Vec<_>, Vec<_>) = (a.value(TensorId(1)).collect(), b.value(TensorId(1)).collect());
        prop_assert_eq!(a, b, "{}\n{}", program, canonical);
        // Whatever mentions the free iterator is a box now.
        if form.0 != 0 && (second.0 != 0 || second.1 == 0 || canonical.nests.iter().all(|n| n.guards.is_empty())) {
            prop_assert!(canonical.nests.iter().all(|n| n.guards.is_empty()), "{canonical}");
        }
    }
}

//! Canonical passes are identities: every pass on every program, and the way from end to end.

#[path = "../../generator/identities.rs"]
mod identities;
mod planted;

use crate::numeric::cases_in;
use compiler::canonical::spelled::recognise_functions;
use compiler::canonical::{Batch, Keep, Options, PASSES, canonicalise, canonicalise_watched};
use compiler::fixed::{self, Numbers};
use compiler::identity::{Effort, Law, Side, check, compare, compare_unrounded};
use compiler::language::{Language, Options as Dialect, parse};
use compiler::ranges::Ranges;
use compiler::tensor::Program;
use identities::{EFFORT, rewrites, uses, with_uneven_rates};
use sim::eval::Engine;
use sim::plain::Plain;
use std::path::{Path, PathBuf};

/// Programs that are changed by passes which change none of the others.
const OTHERS: [(&str, &str); 4] = [
    (
        "a power of two before a function",
        "input d[3][4]\ntemporary s[3]\ntemporary p[3]\n\ns[c] += d[c][k] * d[c][k]  for c in 0..3  over k in 0..4\n\
         p[c] = exp(-0.0625 * s[c])  for c in 0..3\nname p = p\n",
    ),
    (
        "powers of two before two functions",
        "input d[3][4]\ninput e[3][4]\ntemporary s[3]\ntemporary t[3]\ntemporary p[3]\ntemporary q[3]\n\n\
         s[c] += d[c][k] * e[c][k]  for c in 0..3  over k in 0..4\np[c] = exp(0.25 * s[c])  for c in 0..3\n\
         t[c] += e[c][k] * e[c][k]  for c in 0..3  over k in 0..4\nq[c] = sqrt(0.5 * t[c])  for c in 0..3\n\
         name p = p\nname q = q\n",
    ),
    (
        "a mask of infinities",
        "input s[3]\ninput m[3]\ntemporary a[3]\ntemporary p[3]\n\na[i] = s[i] + select(m[i], 0, -inf)  for i in 0..3\n\
         p[i] = sigmoid(a[i])  for i in 0..3\nname a = a\nname p = p\n",
    ),
    (
        "extremes of quotients and logarithms at some of the points",
        "input x[4]\ninput y[3]\ntemporary q[4]\ntemporary l[4]\n\n\
         q[i] max= x[i] / y[i - k]  for i in 0..4  over k in 0..3  if 0 <= i - k < 3\n\
         l[i] min= x[i] * log(y[i - k] * y[i - k])  for i in 0..4  over k in 0..3  if 0 <= i - k < 3\n\
         name q = q\nname l = l\n",
    ),
];

/// Conformance programs, and the examples of the passes that are programs of tensor IR.
fn all() -> Vec<(String, Program)> {
    let conformance = ["tabla", "tc", "tile", "rink"].into_iter().flat_map(cases_in);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compiler/tests/stages");
    let folders = PASSES.iter().map(|pass| examples.join(pass.name)).filter_map(|folder| folder.read_dir().ok());
    let mut files: Vec<PathBuf> = folders.flatten().map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "in"));
    files.sort();
    let example = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("it reads");
        // Programs of which some passes have been run already speak of a batch.
        if text.lines().next().is_some_and(|pass| pass.contains(" batch ")) {
            return None;
        }
        let program = text.parse().unwrap_or_else(|error| panic!("{}: {error:?}", file.display()));
        Some((file.strip_prefix(&examples).expect("in the folder").display().to_string(), program))
    };
    let others = OTHERS.map(|(name, text)| (name.to_owned(), text.parse().expect("a program")));
    let programs = conformance.map(|case| (case.file, case.program)).chain(files.into_iter().filter_map(example));
    programs.chain(others).collect()
}

#[test]
fn every_pass_is_an_identity_on_every_program() {
    let (mut changed, mut broken) = (0, Vec::new());
    for (file, program) in all() {
        match rewrites(&program, EFFORT) {
            Ok(passes) => changed += passes,
            Err(wrong) => broken.push(format!("{file}: {wrong}")),
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    println!("{changed} rewrites");
    assert!(changed > 1000, "{changed}");
}

#[test]
fn canonical_forms_are_the_same_function() {
    let mut broken = Vec::new();
    for (file, program) in all() {
        let program = with_uneven_rates(&program);
        for options in uses(&program) {
            match check(&program, &options, EFFORT) {
                Ok(Some(chain)) if chain.field.log2_error < -40.0 && chain.field.rounded == 0 => {}
                Ok(Some(chain)) => broken.push(format!("{file}: {chain}")),
                Ok(None) => {}
                Err(wrong) => broken.push(format!("{file} {options:?}: {wrong}")),
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Fixed point is the canonical form but for roundings.
#[test]
fn fixed_point_rounds_and_nothing_else() {
    let (mut compared, mut broken) = (0, Vec::new());
    for (file, program) in all() {
        let program = with_uneven_rates(&program);
        for options in uses(&program) {
            let Ok(canonical) = canonicalise(&program, &options) else { continue };
            let ranges = Ranges::of_tensors(vec![Some((-2.0, 2.0)); canonical.tensors.len()]);
            let Ok((lowered, _)) = fixed::lower(&canonical, &ranges, &Numbers::of_width(16)) else { continue };
            match compare_unrounded(&canonical, &lowered, EFFORT) {
                Ok(None) => {}
                Ok(Some(evidence)) if evidence.rounded == 0 => compared += 1,
                Ok(Some(evidence)) => broken.push(format!("{file}: {evidence:?}")),
                Err(wrong) => broken.push(format!("{file} {options:?}: {wrong}")),
            }
        }
    }
    assert!(broken.is_empty(), "{} of {compared}:\n{}", broken.len(), broken.join("\n"));
    assert!(compared > 250, "{compared}");
}

/// A program that is too large for its effort is compared by a sample of its results.
#[test]
fn large_programs_are_sampled() {
    let text = "mu = 0.3; model_input x[300]; model_output y[200]; model w[200][300]; gradient g[200][300] -> w;
        iterator i[0:300]; iterator j[0:200]; d[j] = sum[i](w[j][i] * x[i]) - y[j]; g[j][i] = d[j] * x[i];";
    let (program, _) = parse(Language::Tabla, text, &Dialect::default()).expect("a program");
    let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch: Batch::SINGLE };
    let chain = check(&program, &options, Effort(10_000)).expect("identities").expect("canonical");
    assert!(chain.field.one_of.is_some() && (1..1000).contains(&chain.field.values), "{chain}");
    assert!(chain.to_string().contains("a sample of 1 in"), "{chain}");
    let whole = check(&program, &options, Effort(20_000_000)).expect("identities").expect("canonical");
    assert_eq!((whole.field.one_of, whole.field.values), (None, 60_000), "{whole}");
}

/// The law of log-sum-exp, by the plain evaluator: counted from the largest exponent, a sum of exponentials has the same logarithm.
#[test]
fn exponents_may_be_counted_from_the_largest() {
    let text = "def f(float(N, K) Z) -> (S, L, P) {
        S(n) +=! exp(Z(n, k))
        L(n) = log(S(n))
        P(n, k) = exp(Z(n, k)) / S(n) }";
    let sizes =
        serde_json::json!({ "Z": [[0.5, -1.25, 3.0], [-20.0, -21.0, -19.5], [12.0, 12.0, 11.0], [0.0, 0.0, 0.0]] });
    let dialect = sim::eval::with_shapes_of(&sizes, Dialect::default());
    let (program, _) = parse(Language::TensorComprehensions, text, &dialect).expect("a program");
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let (mut before, mut after) = (None, None);
    canonicalise_watched(&program, &options, &mut |pass, program| match pass.name {
        "replace_infinities" => before = Some(program.clone()),
        "shift_exponentials" => after = Some(program.clone()),
        _ => {}
    })
    .expect("it has a canonical form");
    let (before, after) = (before.expect("a pass"), after.expect("a pass"));
    assert_ne!(before, after, "the law is used");
    for (one, other) in results(&before, &sizes).into_iter().zip(results(&after, &sizes)) {
        assert!((one - other).abs() <= 1e-12 * one.abs().max(1e-6), "{one} {other}");
    }
}

/// The law of logistic functions, by the plain evaluator and by formulas of this test: with names in between and scales that are not 1, too.
#[test]
fn quotients_and_logarithms_of_two_exponentials_are_functions() {
    type Case = (&'static str, &'static str, fn(f64) -> f64);
    const CASES: [Case; 12] = [
        ("1.0 / (1.0 + exp(-Z(n)))", "sigmoid", |z| 1.0 / (1.0 + (-z).exp())),
        ("exp(Z(n)) / (exp(Z(n)) + 1.0)", "sigmoid", |z| 1.0 / (1.0 + (-z).exp())),
        ("pow(1.0 + exp(0.0 - Z(n)), -1.0)", "sigmoid", |z| 1.0 / (1.0 + (-z).exp())),
        ("3.0 / (2.0 + 5.0 * exp(Z(n)))", "sigmoid", |z| 3.0 / (2.0 + 5.0 * z.exp())),
        ("Z(n) / (1.0 + exp(-Z(n)))", "sigmoid", |z| z / (1.0 + (-z).exp())),
        ("2.0 / (1.0 + exp(-2.0 * Z(n))) - 1.0", "sigmoid", f64::tanh),
        ("(exp(Z(n)) - exp(-Z(n))) / (exp(Z(n)) + exp(-Z(n)))", "tanh", f64::tanh),
        ("(1.0 - exp(-2.0 * Z(n))) / (1.0 + exp(-2.0 * Z(n)))", "tanh", f64::tanh),
        ("(exp(2.0 * Z(n)) + 3.0) / (exp(2.0 * Z(n)) + 1.0)", "sigmoid", |z| 1.0 + 2.0 / (1.0 + (2.0 * z).exp())),
        ("log(1.0 + exp(Z(n)))", "log1p", |z| z.max(0.0) + (-z.abs()).exp().ln_1p()),
        ("log(exp(Z(n)) + 2.0 * exp(-Z(n)))", "log1p", |z| (z.exp() + 2.0 * (-z).exp()).ln()),
        ("log1p(exp(0.0 - fabs(Z(n))))", "log1p", |z| (-z.abs()).exp().ln_1p()),
    ];
    let z = [0.5, -1.25, 3.0, -20.0, 0.0, 7.5];
    let sizes = serde_json::json!({ "Z": z });
    let dialect = sim::eval::with_shapes_of(&sizes, Dialect::default());
    for (written, function, meant) in CASES {
        let text =
            format!("def f(float(N) Z) -> (P) {{ P(n) = {} }}", written.replace('-', " - ").replace("( - ", "(0.0 - "));
        let (program, _) = parse(Language::TensorComprehensions, &text, &dialect).expect(written);
        let after = recognise_functions(&program);
        assert!(after.to_string().contains(function), "{written}:\n{after}");
        assert!(!after.to_string().contains('/'), "{written}:\n{after}");
        for (found, z) in results(&after, &sizes).into_iter().zip(z) {
            assert!((found - meant(z)).abs() <= 1e-14 * meant(z).abs().max(1.0), "{written} of {z}: {found}");
        }
    }
    // Nothing is lost where one of the two is subtracted, or where there are three.
    for written in
        ["1.0 / (1.0 - exp(Z(n)))", "1.0 / (1.0 + exp(Z(n)) + exp(2.0 * Z(n)))", "1.0 / exp(Z(n))", "log(exp(Z(n)))"]
    {
        let text = format!("def f(float(N) Z) -> (P) {{ P(n) = {written} }}");
        let (program, _) = parse(Language::TensorComprehensions, &text, &dialect).expect(written);
        assert_eq!(recognise_functions(&program), program, "{written}");
    }
}

/// Everything that a program names, evaluated as it is written.
fn results(program: &Program, inputs: &serde_json::Value) -> Vec<f64> {
    let mut plain = Plain::new(program);
    for (tensor, elements) in sim::eval::read_inputs(program, inputs).expect("inputs") {
        plain.set(tensor, &elements);
    }
    plain.step().expect("values");
    let values = program.names.iter().flat_map(|(_, tensor)| plain.value(*tensor));
    values.map(|value| value.expect("a value")).collect()
}

/// A rate that went into a sum once for each of two terms that read it: an update that is ten times too small.
#[test]
fn a_rate_that_goes_into_a_sum_twice_is_seen() {
    let program = |mu: f64, in_sum: f64| {
        let text = format!(
            "mu = {mu}; model_input x[2]; model_output y; model w[3]; model v[2][3]; gradient g[3] -> w;
            iterator i[0:3]; iterator k[0:2]; s[i] = {in_sum} * sum[k](v[k][i] * x[k]); p[i] = sigmoid(x[0]*w[i]);
            q[i] = gaussian(x[1]*w[i]); h = sum[i](w[i]) - y; g[i] = s[i]*p[i] + s[i]*q[i];"
        );
        parse(Language::Tabla, &text, &Dialect::default()).expect("a program").0
    };
    let side = |program| Side { program, batch: Batch::SINGLE, vectorised: false };
    let without_names = |program: Program| Program { names: Vec::new(), ..program };
    let (source, once, twice) = (program(0.1, 1.0), program(1.0, 0.1), program(1.0, 0.01));
    let [source, once, twice] = [source, once, twice].map(without_names);
    assert!(compare(side(&source), side(&once), Law::Field, EFFORT).is_ok());
    let difference = compare(side(&source), side(&twice), Law::Field, EFFORT).expect_err("another rate");
    assert_eq!(difference.result, "the next `w`");
    // What the passes make of it now.
    assert!(rewrites(&program(0.1, 1.0), EFFORT).expect("identities") > 20);
}

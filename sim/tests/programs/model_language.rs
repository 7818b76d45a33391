//! The theorems of the model language's report, on random well-typed programs.
//!
//! | theorem | here |
//! |---|---|
//! | progress | a well-typed program evaluates, whatever its values are |
//! | safety | it never reads or writes outside of a tensor: law 3 of tensor IR holds, and the evaluator has no fault |
//! | padding | with every extent rounded up to a multiple of a vector length, and zeros there, it means the same, and zeros stay |
//! | dead code | what is reported as dead reaches no output, and nothing else |
//! | aliasing | what is not reported depends on no element of its target but its own: it could be stored at once |
//! | common subexpressions | what is written twice, with the same definitions reaching it, is reported |
//!
//! The grid is such a vector machine: every program also runs on rows of 1 to 16 PEs, word by word as `fixed` says.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep};
use compiler::language::{Language, Options, parse};
use compiler::tensor::{Program, Role, TensorId, laws};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::golden::Golden;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};
use std::collections::{BTreeMap, BTreeSet};

/// A random program: declarations, and statements with the variables that each reads.
struct Random {
    numbers: ChaCha8Rng,
    variables: Vec<(String, Vec<u32>)>,
    statements: Vec<Statement>,
}

struct Statement {
    target: usize,
    text: String,
    reads: BTreeSet<usize>,
}

impl Random {
    fn program(seed: u64, division: bool) -> Random {
        let numbers = ChaCha8Rng::seed_from_u64(seed);
        let mut program = Random { numbers, variables: Vec::new(), statements: Vec::new() };
        for _ in 0..program.between(1, 5) {
            let shape = program.shape();
            let target = program.variable(&shape);
            let mut reads = BTreeSet::new();
            let text = program.expression(&shape, 3, division, &mut reads);
            program.statements.push(Statement { target, text, reads });
        }
        program
    }

    fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.numbers.next_u32() % (high - low + 1)
    }

    fn shape(&mut self) -> Vec<u32> {
        (0..self.between(0, 3)).map(|_| self.between(1, 4)).collect()
    }

    /// A variable of this shape: mostly one that is there already.
    fn variable(&mut self, shape: &[u32]) -> usize {
        let known: Vec<usize> = (0..self.variables.len()).filter(|&v| self.variables[v].1 == shape).collect();
        if !known.is_empty() && self.between(0, 3) > 0 {
            return known[self.numbers.next_u32() as usize % known.len()];
        }
        self.variables.push((format!("v{}", self.variables.len()), shape.to_vec()));
        self.variables.len() - 1
    }

    /// An expression of this shape, in parentheses if it is more than a name.
    fn expression(&mut self, shape: &[u32], depth: u32, division: bool, reads: &mut BTreeSet<usize>) -> String {
        let rank = shape.len() as u32;
        let mut part = |program: &mut Random, shape: &[u32]| program.expression(shape, depth - 1, division, reads);
        match if depth == 0 { 0 } else { self.between(0, 7) } {
            1 | 2 => {
                let operators: &[&str] = if division { &["+", "-", "*", "/"] } else { &["+", "-", "*"] };
                let operator = operators[self.numbers.next_u32() as usize % operators.len()];
                let left = part(self, shape);
                format!("({left} {operator} {})", part(self, shape))
            }
            3 => {
                let scalar = part(self, &[]);
                format!("({scalar} * {})", part(self, shape))
            }
            4 if division => {
                let tensor = part(self, shape);
                format!("({tensor} / {})", part(self, &[]))
            }
            5 if rank >= 2 => {
                let m = self.between(1, rank);
                let n = (m + self.between(1, rank - 1) - 1) % rank + 1;
                let mut inner = shape.to_vec();
                inner.swap(m as usize - 1, n as usize - 1);
                format!("({} ^ [{m} {n}])", part(self, &inner))
            }
            6 if rank >= 1 => {
                let at = self.between(0, rank) as usize;
                let left = part(self, &shape[..at]);
                format!("({left} # {})", part(self, &shape[at..]))
            }
            7 if rank <= 2 => {
                let extent = self.between(1, 4);
                let m = self.between(1, rank + 2);
                let n = (m + self.between(1, rank + 1) - 1) % (rank + 2) + 1;
                let mut inner = shape.to_vec();
                inner.insert(m.min(n) as usize - 1, extent);
                inner.insert(m.max(n) as usize - 1, extent);
                format!("({} . [{m} {n}])", part(self, &inner))
            }
            _ => {
                let variable = self.variable(shape);
                reads.insert(variable);
                self.variables[variable].0.clone()
            }
        }
    }

    /// The text, with every extent rounded up to a multiple of `lanes`.
    fn text(&self, lanes: u32) -> String {
        self.qualified(lanes, |_| "")
    }

    fn qualified(&self, lanes: u32, qualifier: impl Fn(usize) -> &'static str) -> String {
        let mut text = String::new();
        for (number, (name, shape)) in self.variables.iter().enumerate() {
            let extents: Vec<String> = padded(shape, lanes).iter().map(u32::to_string).collect();
            text += &format!("var {}{name} : [{}]\n", qualifier(number), extents.join(" "));
        }
        for statement in &self.statements {
            text += &format!("{} = {}\n", self.variables[statement.target].0, statement.text);
        }
        text
    }

    /// Small values with a zero here and there, exact in any arithmetic.
    fn values(&mut self) -> Vec<Vec<f64>> {
        let counts: Vec<u32> = self.variables.iter().map(|(_, shape)| shape.iter().product()).collect();
        let value = |program: &mut Random| (f64::from(program.between(0, 16)) - 8.0) / 4.0;
        counts.into_iter().map(|count| (0..count).map(|_| value(self)).collect()).collect()
    }
}

fn padded(shape: &[u32], lanes: u32) -> Vec<u32> {
    shape.iter().map(|extent| extent.next_multiple_of(lanes)).collect()
}

/// The elements of a tensor in a larger one: for each element of the larger, the element of the smaller, if it has one.
fn inside(shape: &[u32], larger: &[u32]) -> Vec<Option<usize>> {
    let count: u32 = larger.iter().product();
    (0..count)
        .map(|number| {
            let (mut rest, mut index) = (number, vec![0; larger.len()]);
            for (d, &extent) in larger.iter().enumerate().rev() {
                index[d] = rest % extent;
                rest /= extent;
            }
            let fits = index.iter().zip(shape).all(|(at, extent)| at < extent);
            fits.then(|| index.iter().zip(shape).fold(0, |element, (&at, &extent)| element * extent + at) as usize)
        })
        .collect()
}

fn read(text: &str) -> Program {
    let (program, _) = parse(Language::Rink, text, &Options::default())
        .unwrap_or_else(|errors| panic!("a well-typed program is refused: {}\n{text}", errors[0].message));
    program
}

/// The final store, by name, for these initial values.
fn evaluate(program: &Program, text: &str, initial: &BTreeMap<String, Vec<f64>>) -> BTreeMap<String, Vec<Option<f64>>> {
    let mut golden = Golden::new(program);
    for (id, tensor) in program.tensors.iter().enumerate().filter(|(_, tensor)| tensor.role == Role::Input) {
        golden.set(TensorId(id), &initial[&tensor.name]);
    }
    golden.step().unwrap_or_else(|fault| panic!("a well-typed program has a fault: {}\n{text}", fault.message));
    program.names.iter().map(|(name, id)| (name.clone(), golden.value(*id).collect())).collect()
}

fn named(program: &Random, values: &[Vec<f64>]) -> BTreeMap<String, Vec<f64>> {
    program.variables.iter().map(|(name, _)| name.clone()).zip(values.iter().cloned()).collect()
}

#[test]
fn well_typed_programs_evaluate_and_stay_inside() {
    for seed in 0..400 {
        let mut random = Random::program(seed, true);
        let text = random.text(1);
        let program = read(&text);
        assert_eq!(laws(&program), Ok(()), "{text}");
        let values = random.values();
        let store = evaluate(&program, &text, &named(&random, &values));
        assert_eq!(store.len(), program.names.len());
    }
}

#[test]
fn padding_changes_nothing() {
    let (mut compared, mut zeros) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::program(seed, true);
        let values = random.values();
        let text = random.text(1);
        let store = evaluate(&read(&text), &text, &named(&random, &values));
        let all_defined = store.values().flatten().all(Option::is_some);
        for lanes in 1..=16 {
            let text = random.text(lanes);
            let larger: Vec<Vec<f64>> = random
                .variables
                .iter()
                .zip(&values)
                .map(|((_, shape), values)| {
                    let places = inside(shape, &padded(shape, lanes));
                    places.into_iter().map(|place| place.map_or(0.0, |at| values[at])).collect()
                })
                .collect();
            let padded_store = evaluate(&read(&text), &text, &named(&random, &larger));
            for (name, shape) in &random.variables {
                let (Some(small), Some(large)) = (store.get(name), padded_store.get(name)) else { continue };
                for (place, &value) in inside(shape, &padded(shape, lanes)).into_iter().zip(large) {
                    match place {
                        Some(at) => assert_eq!(value, small[at], "{name}[{at}] with {lanes} lanes\n{text}"),
                        // Where an operand has no value, neither has its product with a zero.
                        None if value.is_none() => assert!(!all_defined, "{name} with {lanes} lanes\n{text}"),
                        None => {
                            assert_eq!(value, Some(0.0), "padding of {name} with {lanes} lanes\n{text}");
                            zeros += 1;
                        }
                    }
                    compared += 1;
                }
            }
        }
    }
    println!("{compared} elements, {zeros} of them padding");
    assert!(compared > 10_000 && zeros > 1_000, "{compared} elements, {zeros} of them padding");
}

#[test]
fn rows_of_one_to_sixteen_pes_compute_the_same_words() {
    let mut climbed = 0;
    for seed in 1000..1012 {
        let mut random = Random::program(seed, true);
        let values = random.values();
        let text = random.text(1);
        let program = read(&text);
        let step: NamedValues = named(&random, &values);
        let options = compiler::canonical::Options { keep: Keep::AllNames, batch: Batch::SINGLE };
        let mut first: Option<BTreeMap<String, (i32, Vec<i64>)>> = None;
        for lanes in 1..=16 {
            let spec = MachineSpec {
                pus: Some(1),
                pes_per_pu: Some(lanes),
                word: Some(24),
                divider: Some(true),
                extremes: Some(true),
                squares: Some(true),
                ..MachineSpec::default()
            };
            let Ok(climb) = Climb::new(&program, &options, &NamedValues::new(), std::slice::from_ref(&step), &spec)
            else {
                break;
            };
            climb
                .run(Array::new(&climb.image().machine), Stalls::none())
                .unwrap_or_else(|fall| panic!("{fall} on a row of {lanes}\n{text}"));
            let words: BTreeMap<_, _> =
                program.names.iter().filter_map(|(name, _)| Some((name.clone(), climb.words(name)?))).collect();
            assert_eq!(first.get_or_insert_with(|| words.clone()), &words, "a row of {lanes}\n{text}");
            climbed += 1;
        }
    }
    println!("{climbed} climbs");
    assert!(climbed >= 8 * 16, "only {climbed} climbs");
}

/// Statements that no output needs, found backwards.
fn dead(program: &Random, outputs: &BTreeSet<usize>) -> usize {
    let mut wanted = outputs.clone();
    let mut dead = 0;
    for statement in program.statements.iter().rev() {
        if wanted.remove(&statement.target) {
            wanted.extend(&statement.reads);
        } else {
            dead += 1;
        }
    }
    dead
}

#[test]
fn dead_code_is_what_reaches_no_output() {
    let mut found = 0;
    for seed in 0..300 {
        let random = Random::program(seed, false);
        let last = random.statements.last().expect("there is a statement").target;
        let outputs = BTreeSet::from([last]);
        let text = random.qualified(1, |variable| if variable == last { "input output " } else { "input " });
        let (_, warnings) = parse(Language::Rink, &text, &Options::default()).expect("it is well-typed");
        let reported = warnings.iter().filter(|warning| warning.code.as_str() == "W-DEAD").count();
        assert_eq!(reported, dead(&random, &outputs), "{text}");
        found += reported;
    }
    assert!(found > 50, "only {found} dead statements");
}

/// A variable without `input` that is read before it is assigned, and an output without `input` that is never assigned.
#[test]
fn values_that_are_missing_are_found_before_the_run() {
    for seed in 0..100 {
        let random = Random::program(seed, false);
        let mut assigned = BTreeSet::new();
        let mut early = false;
        for statement in &random.statements {
            early |= !statement.reads.is_subset(&assigned);
            assigned.insert(statement.target);
        }
        let last = random.statements.last().expect("there is a statement").target;
        let text = random.qualified(1, |variable| if variable == last { "output " } else { "" });
        match parse(Language::Rink, &text, &Options::default()) {
            Err(errors) => assert!(early && errors[0].code.as_str() == "E-UNDEFVAL", "{}\n{text}", errors[0].message),
            Ok(_) => assert!(!early, "{text}"),
        }
        let unassigned = (0..random.variables.len()).find(|variable| !assigned.contains(variable));
        if let Some(output) = unassigned {
            let text = random.qualified(1, |variable| if variable == output { "output " } else { "input " });
            let errors = parse(Language::Rink, &text, &Options::default()).expect_err("an output is never assigned");
            // Who reads it comes before who asks for it.
            let read = random.statements.iter().any(|statement| statement.reads.contains(&output));
            assert_eq!(errors[0].code.as_str(), if read { "E-UNDEFVAL" } else { "E-OUTPUT" }, "{text}");
        }
    }
}

/// The program of one statement alone, and its warnings.
fn alone(random: &Random, number: usize) -> (String, Program, Vec<String>) {
    let whole = random.text(1);
    let declarations: String = whole.split_inclusive('\n').filter(|line| line.starts_with("var")).collect();
    let Statement { target, text, .. } = &random.statements[number];
    let text = format!("{declarations}{} = {text}\n", random.variables[*target].0);
    let (program, warnings) = parse(Language::Rink, &text, &Options::default()).expect("it is well-typed");
    (text, program, warnings.iter().map(|warning| warning.code.as_str().to_owned()).collect())
}

#[test]
fn statements_without_a_warning_could_be_stored_element_by_element() {
    let (mut warned, mut seen, mut quiet) = (0, 0, 0);
    for seed in 0..1200 {
        let mut random = Random::program(seed, false);
        let values = random.values();
        for number in 0..random.statements.len() {
            let (text, program, warnings) = alone(&random, number);
            let Statement { target, reads, .. } = &random.statements[number];
            if !reads.contains(target) {
                assert!(!warnings.contains(&"W-SELFREF".to_owned()), "{text}");
                continue;
            }
            let name = &random.variables[*target].0;
            let initial = named(&random, &values);
            let before = evaluate(&program, &text, &initial);
            // An element that follows another one's old value cannot be computed after that was stored.
            let follows = (0..values[*target].len()).any(|changed| {
                let mut other = initial.clone();
                other.get_mut(name).expect("it is declared")[changed] += 1.0;
                let after = evaluate(&program, &text, &other);
                let mut pairs = before[name].iter().zip(&after[name]).enumerate();
                pairs.any(|(element, (a, b))| element != changed && a != b)
            });
            let reported = warnings.contains(&"W-SELFREF".to_owned());
            assert!(reported || !follows, "{text}");
            warned += usize::from(reported);
            seen += usize::from(follows);
            quiet += usize::from(!reported);
        }
    }
    println!("{warned} statements with a warning, {seen} of them for values that were seen, {quiet} without");
    assert!(seen > 20 && quiet > 20 && warned < 3 * seen, "{warned} {seen} {quiet}");
}

/// The expressions in parentheses of a statement, each variable with the number of its assignments so far.
fn parts(text: &str, assigned: &BTreeMap<String, usize>) -> Vec<String> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '(' => open.push(at),
            ')' => {
                let words = text[open.pop().expect("it is balanced")..=at].split_inclusive([' ', '(', ')']);
                let version = |word: &str| {
                    let name = word.trim_end_matches([' ', '(', ')']);
                    format!("{word}@{}", assigned.get(name).copied().unwrap_or(0))
                };
                found.push(words.map(version).collect());
            }
            _ => {}
        }
    }
    found
}

#[test]
fn what_is_written_twice_is_reported() {
    let (mut twice, mut once) = (0, 0);
    for seed in 0..400 {
        let random = Random::program(seed, false);
        let (_, warnings) = parse(Language::Rink, &random.text(1), &Options::default()).expect("it is well-typed");
        let lost = warnings.iter().any(|warning| warning.code.as_str() == "W-DEAD");
        let reported = warnings.iter().any(|warning| warning.code.as_str() == "W-REPEATED");
        let (mut known, mut assigned, mut repeated) = (BTreeSet::new(), BTreeMap::new(), false);
        for statement in &random.statements {
            for part in parts(&statement.text, &assigned) {
                // An exchange is not a computation.
                let pair = part.rfind('[').filter(|_| part.ends_with("])@0"));
                let exchange = pair.is_some_and(|pair| part[..pair].ends_with("^ @0"));
                repeated |= !exchange && !known.insert(part);
            }
            *assigned.entry(random.variables[statement.target].0.clone()).or_insert(0) += 1;
        }
        // What is dead is not computed, so nothing is computed twice for it.
        assert!(lost || reported || !repeated, "{}", random.text(1));
        twice += usize::from(repeated && !lost);
        once += usize::from(!reported);
    }
    println!("{twice} programs with repetitions, {once} without a warning");
    assert!(twice > 10 && once > 100, "{twice} {once}");
}

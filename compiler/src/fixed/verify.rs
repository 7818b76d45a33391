//! The laws of fixed-point IR, checked.
//!
//! | law | checked how |
//! |---|---|
//! | 1 tensors are boxes of words | each parameter has a word per element, words and constants fit the width |
//! | 2, 6, 7 shifts follow from binary points | directly |
//! | 3 comparisons are whole numbers | directly |
//! | 4 own elements at the written index only | directly |
//! | 5 written before read | by tensor: an operation before writes it, or one of the step before (for states) |
//! | 8 accesses inside their tensors | interval of the index over the box |
//! | 9 sums fit the accumulator | by the largest words; by the ranges of values where the operation says so |
//! | 10 whole numbers have no negative fraction | by the largest value that a whole number has, from operation to operation |
//! | 11 copies and extremes do not move the point | by tensor: all that is written to it; the next value of a state has the state's |

use super::{Finish, Kind, Operand, Operation, Program, Role, SumBound, Tensor};
use crate::laws::{Check, Entity, Fault, Laws, Report, Stage, ensure, stop_at};
use crate::tensor::{Affine, TensorId};
use arch::division::{Rounding, most_places};
use arch::isa::Combine;
use arch::number::{word_max, word_min};
use std::collections::BTreeSet;

/// Check the laws of the module head.
///
/// # Panics
/// When a law is broken: that is a bug of ours, never the user's.
pub fn verify(program: &Program) {
    stop_at(laws(program), || program.to_string());
}

/// The laws that are broken.
///
/// # Errors
/// If there are any.
pub fn laws(program: &Program) -> Laws {
    let mut written: Vec<bool> =
        program.tensors.iter().map(|t| matches!(t.role, Role::Input | Role::State | Role::Parameter(_))).collect();
    let mut report = Report::new(Stage::Fixed);
    report.of_program(ensure((2..=32).contains(&program.word), 1, || format!("words of {} bits", program.word)));
    for (number, tensor) in program.tensors.iter().enumerate() {
        report.of(Entity::Tensor(number), || tensor.name.clone(), verify_parameter(program, tensor));
    }
    for (number, operation) in program.operations.iter().enumerate() {
        if operation.out.0 >= program.tensors.len() {
            let missing = Err(Fault { law: 1, why: format!("there is no tensor {}", operation.out) });
            report.of(Entity::Operation(number), String::new, missing);
            return report.laws();
        }
        report.of(Entity::Operation(number), || program.line(operation), check(program, operation, &written));
        written[operation.out.0] = true;
    }
    for (name, tensor) in &program.names {
        let known = tensor.0 < program.tensors.len();
        report.of_program(ensure(known, 1, || format!("{name} is {tensor}, which is no tensor")));
    }
    // The laws of formats build on those of accesses.
    if report.is_clean() {
        report.of_program(whole_numbers(program));
        report.of_program(moves(program));
    }
    report.laws()
}

/// Law 1 of a tensor's own words.
fn verify_parameter(program: &Program, tensor: &Tensor) -> Check {
    let Role::Parameter(words) = &tensor.role else { return Ok(()) };
    let elements: usize = tensor.shape.iter().map(|&n| n as usize).product();
    ensure(words.len() == elements, 1, || format!("it has {} words of {elements}", words.len()))?;
    ensure(words.iter().all(|&w| fits(program, w)), 1, || "a word does not fit the width".into())
}

/// Law 10.
fn whole_numbers(program: &Program) -> Check {
    let most = word_max(program.word) as f64;
    // The largest size of the whole numbers of a tensor; nothing where they are not known to be whole.
    let mut sizes: Vec<Option<f64>> =
        program.tensors.iter().map(|tensor| parameter_size(tensor.fraction, &tensor.role)).collect();
    let mut writers = vec![0usize; program.tensors.len()];
    program.operations.iter().for_each(|operation| writers[operation.out.0] += 1);
    for operation in &program.operations {
        let out = &program.tensors[operation.out.0];
        let of = |operand: &Operand| match operand {
            Operand::Read { tensor, .. } => sizes[tensor.0],
            Operand::Constant { word, fraction } => size(*word, *fraction),
        };
        let terms: f64 = operation.iterators[operation.free..].iter().map(|i| i.extent() as f64).product();
        let made = match &operation.kind {
            Kind::MultiplyAdd { finish: Finish::Negative, .. } => Some(1.0),
            Kind::MultiplyAdd { start, product, scale, square: false, combine, .. } if *scale >= 0 => {
                let start = start.as_ref().map_or(Some(0.0), of);
                let product =
                    product.as_ref().map_or(Some(0.0), |(a, b)| Some(of(a)? * of(b)? * libm::ldexp(1.0, *scale)));
                start.zip(product).map(|(a, b)| if combine.compares() { a.max(b) } else { a + terms * b })
            }
            _ => None,
        };
        let made =
            made.filter(|size| *size <= most && !matches!(out.role, Role::State) && writers[operation.out.0] == 1);
        ensure(made.is_none() || out.fraction >= 0, 10, || {
            format!("the whole numbers of {} have {} bits after the point", out.name, out.fraction)
        })?;
        sizes[operation.out.0] = made;
    }
    Ok(())
}

/// The size of a word that is a whole number.
fn size(word: i64, fraction: i32) -> Option<f64> {
    let value = libm::ldexp(word as f64, -fraction);
    (libm::trunc(value) == value).then(|| value.abs())
}

fn parameter_size(fraction: i32, role: &Role) -> Option<f64> {
    let Role::Parameter(words) = role else { return None };
    words.iter().try_fold(0.0f64, |most, &word| Some(most.max(size(word, fraction)?)))
}

/// Law 11.
fn moves(program: &Program) -> Check {
    let mut finest: Vec<Option<i32>> = vec![Some(i32::MIN); program.tensors.len()];
    for operation in &program.operations {
        let fraction = |operand: &Operand| match operand {
            Operand::Read { tensor, .. } => program.tensors[tensor.0].fraction,
            // A constant is what it is at any point.
            Operand::Constant { .. } => i32::MIN,
        };
        let one = |operand: &Operand| matches!(operand, Operand::Constant { word, fraction } if (0..63).contains(fraction) && *word == 1 << fraction);
        let sources: Option<i32> = match &operation.kind {
            Kind::MultiplyAdd {
                start: Some(start),
                product: None,
                finish: Finish::Round | Finish::Positive(_),
                ..
            } => Some(fraction(start)),
            Kind::MultiplyAdd { start, product: Some((a, b)), scale: 0, square: false, combine, .. }
                if combine.compares() && one(b) =>
            {
                start.iter().chain([a]).map(fraction).max()
            }
            _ => None,
        };
        let finest = &mut finest[operation.out.0];
        *finest = finest.zip(sources).map(|(a, b)| a.max(b));
    }
    // The next value of a state has its binary point.
    let next_of = |operation: &Operation| match &operation.kind {
        Kind::MultiplyAdd { start: Some(Operand::Read { tensor, .. }), product: None, .. }
            if program.tensors[operation.out.0].role == Role::State =>
        {
            Some(tensor.0)
        }
        _ => None,
    };
    let next: BTreeSet<usize> = program.operations.iter().filter_map(next_of).collect();
    for (number, (tensor, finest)) in program.tensors.iter().zip(finest).enumerate() {
        // What bounds a mask is as fine as the sum that it goes into.
        let own = matches!(tensor.role, Role::Temporary | Role::Output)
            && !tensor.name.ends_with(super::NEAR)
            && !next.contains(&number);
        let moved = finest.filter(|&finest| own && finest > i32::MIN);
        ensure(moved.is_none_or(|finest| tensor.fraction <= finest), 11, || {
            format!("{} has {} bits after the point, and only copies of fewer", tensor.name, tensor.fraction)
        })?;
    }
    Ok(())
}

fn check(program: &Program, operation: &Operation, written: &[bool]) -> Check {
    ensure(operation.free <= operation.iterators.len(), 1, || "more free iterators than iterators".into())?;
    ensure(operation.iterators.iter().all(|i| i.extent() > 0), 1, || "an iterator without values".into())?;
    let read_only = matches!(program.tensors[operation.out.0].role, Role::Input | Role::Parameter(_));
    ensure(!read_only, 5, || "its tensor is read only".into())?;
    inside(program, operation, operation.out, &operation.out_index, true)?;
    for (operand, free_only) in operands(&operation.kind) {
        match operand {
            Operand::Constant { word, .. } => {
                ensure(fits(program, *word), 1, || format!("the constant {word} does not fit the width"))?;
            }
            Operand::Read { tensor, index } => {
                inside(program, operation, *tensor, index, free_only)?;
                let name = &program.tensors[tensor.0].name;
                ensure(written[tensor.0], 5, || format!("{name} is read before it is written"))?;
                let own = *tensor != operation.out || *index == operation.out_index;
                ensure(own, 4, || format!("it reads other elements of {name} than it writes"))?;
            }
        }
    }
    formats(program, operation)?;
    let (bits, limit) = (operation.sum_bits(program.word), program.accumulator);
    let bounded = bits <= limit || operation.bound() == SumBound::Ranges;
    ensure(bounded, 9, || format!("a sum of {bits} bits in an accumulator of {limit}"))
}

fn fits(program: &Program, word: i64) -> bool {
    (word_min(program.word)..=word_max(program.word)).contains(&i128::from(word))
}

/// The operands of an operation, and whether each may mention free iterators only.
fn operands(kind: &Kind) -> Vec<(&Operand, bool)> {
    match kind {
        Kind::MultiplyAdd { start, product, .. } => {
            let mut list: Vec<(&Operand, bool)> = start.iter().map(|s| (s, true)).collect();
            if let Some((a, b)) = product {
                list.extend([(a, false), (b, false)]);
            }
            list
        }
        Kind::Product { factor, .. } => vec![(factor, false)],
        Kind::Divide { dividend, divisor, .. } => vec![(dividend, true), (divisor, true)],
        Kind::Function { input, .. } => vec![(input, true)],
    }
}

fn inside(program: &Program, operation: &Operation, tensor: TensorId, index: &[Affine], free_only: bool) -> Check {
    let Some(tensor) = program.tensors.get(tensor.0) else {
        return Err(Fault { law: 1, why: format!("there is no tensor {tensor}") });
    };
    ensure(index.len() == tensor.shape.len(), 1, || format!("{} with {} subscripts", tensor.name, index.len()))?;
    let limit = if free_only { operation.free } else { operation.iterators.len() };
    for (form, &extent) in index.iter().zip(&tensor.shape) {
        let known = form.terms.iter().all(|term| term.0.0 < limit);
        ensure(known, 1, || format!("an index of {} has an iterator that it must not mention", tensor.name))?;
        let (low, high) = form.range(&operation.iterators);
        ensure(low >= 0 && high < i64::from(extent), 8, || {
            format!("an index of {} runs from {low} to {high}, the extent is {extent}", tensor.name)
        })?;
    }
    Ok(())
}

/// Whether the nearest whole number of a sum is the floor of its one value: law 3.
fn rounds_down(start: Option<&Operand>, product: Option<&(Operand, Operand)>) -> bool {
    match (start, product) {
        (Some(Operand::Read { .. }), None) => true,
        (
            Some(Operand::Constant { word, fraction }),
            Some((Operand::Read { .. }, Operand::Constant { word: 2, fraction: 1 })),
        ) => (2..=63).contains(fraction) && *word == 1 - (1 << (fraction - 1)),
        _ => false,
    }
}

/// Laws 2, 3, 6 and 7.
fn formats(program: &Program, operation: &Operation) -> Check {
    let out = &program.tensors[operation.out.0];
    let fraction = |operand: &Operand| match operand {
        Operand::Read { tensor, .. } => program.tensors[tensor.0].fraction,
        Operand::Constant { fraction, .. } => *fraction,
    };
    let reduces = operation.free != operation.iterators.len();
    match &operation.kind {
        Kind::MultiplyAdd { start, align, product, square, scale, combine, shift, finish, bound: _ } => {
            let absent = (start.is_some() || *align == 0)
                && (product.is_some() || !*square && *scale == 0 && *combine == Combine::Add);
            ensure(absent, 2, || "what is absent is aligned, scaled or combined".into())?;
            let sum = match (product, start) {
                (Some((a, b)), _) => fraction(a) + fraction(b) - scale,
                (None, Some(start)) => fraction(start) + *align as i32,
                (None, None) => out.fraction + *shift as i32,
            };
            ensure(*align <= 63 && *shift <= 63, 2, || "a shift by more than 63".into())?;
            let apart = product.as_ref().is_some_and(|(a, b)| *square && fraction(a) != fraction(b));
            ensure(!apart, 2, || "a difference of two binary points is squared".into())?;
            let constant = matches!(product, Some((Operand::Constant { .. }, _)));
            ensure(!constant, 2, || "the first factor is a constant".into())?;
            if let Some(start) = start {
                ensure(fraction(start) + *align as i32 == sum, 2, || format!("the start is aligned by {align}"))?;
            }
            match finish {
                Finish::Round | Finish::Positive(_) | Finish::Whole(_) => {
                    ensure(sum - *shift as i32 == out.fraction, 2, || format!("the sum is shifted by {shift}"))?;
                    let whole = !matches!(finish, Finish::Whole(_)) || out.fraction == 0;
                    ensure(whole, 3, || "a whole number has a binary point".into())?;
                    let down =
                        *finish != Finish::Whole(Rounding::Down) || rounds_down(start.as_ref(), product.as_ref());
                    ensure(down, 3, || "this sum does not round down".into())?;
                }
                Finish::Negative => ensure(out.fraction == 0, 3, || "a comparison has a binary point".into())?,
            }
            ensure(!reduces || product.is_some(), 2, || "a reduction adds nothing up".into())
        }
        Kind::Product { factor, shift, one } => {
            ensure(fraction(factor) == *shift as i32, 7, || format!("each step is shifted by {shift}"))?;
            let right = (0..=62).contains(&out.fraction) && *one == 1 << out.fraction;
            ensure(right, 7, || format!("a product starts at {one}"))
        }
        Kind::Divide { dividend, divisor, places, rounding } => {
            ensure(!reduces, 6, || "a division reduces something".into())?;
            ensure(*places <= most_places(program.word), 6, || format!("the dividend is shifted by {places}"))?;
            let quotient = fraction(dividend) + *places as i32 - fraction(divisor);
            ensure(quotient == out.fraction, 6, || format!("the quotient has {quotient} bits after the point"))?;
            let whole = *rounding == Rounding::Nearest || out.fraction == 0;
            ensure(whole, 6, || "a whole number has a binary point".into())
        }
        Kind::Function { table, input } => {
            let Some(table) = program.tables.get(*table) else {
                return Err(Fault { law: 1, why: format!("there is no table {table}") });
            };
            ensure(!reduces, 1, || "a function reduces something".into())?;
            let right = (fraction(input), out.fraction, program.word)
                == (table.input_fraction, table.output_fraction, table.word);
            ensure(right, 1, || format!("the table of {} is for other formats", table.function))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Combine, Kind, Program, laws, verify};
    use crate::laws::{Entity, Stage, first};

    type Change = fn(&mut Kind);

    const START: &str = "word 16
accumulator 48
input x[3]: q14
state w[3]: q13
parameter p[1]: q0 = [1]
temporary h: q11
temporary c: q0
table sigmoid#0: q11 -> q11, 2^6 segments at 0
";

    /// One line that is right, and what breaks which law.
    #[test]
    fn every_law_is_checked() {
        let of = |lines: &str| laws(&format!("{START}{lines}\n").parse::<Program>().expect("a good text"));
        let right = "h = round(+ w[i] * x[i]) >> 16  over i in 0..3\nc = negative(h << 2 - h * 4:q2)\n\
                     w[i] = round(w[i] << 12 - h * x[i]) >> 12  for i in 0..3\nh = sigmoid#0(h)\n\
                     h = product(x[i]) >> 14 from 2048  over i in 0..3\nc = quotient_down(h / h)\nh = round(x[0] << 2) >> 5";
        assert_eq!(of(right), Ok(()));
        assert_eq!(of("c = floor(-16383:q15 + x[0] * 2:q1) >> 15"), Ok(()));
        for (law, line) in [
            (1, "h = round(+ w[i] * x[i][0]) >> 16  over i in 0..3"),
            (1, "h = round(+ w[i] * 40000:q14) >> 16  over i in 0..3"),
            (1, "h = round(x[i] << 0) >> 3  over i in 0..3"),
            (1, "h = round(+ w[i] * x[i]) >> 16  over i in 3..3"),
            (1, "c = sigmoid#0(w[0])"),
            (2, "h = round(+ w[i] * x[i]) >> 15  over i in 0..3"),
            (2, "h = round(x[0] << 1 + w[0] * x[0]) >> 16"),
            (2, "h = round(+ 3:q13 * x[0]) >> 16"),
            (2, "h = round(x[0]) >> 3  over i in 0..3"),
            (2, "h = round(+ w[0] * x[0] * 2^80) >> 64"),
            (3, "h = negative(+ w[0] * x[0])"),
            (3, "h = nearest(+ w[0] * x[0]) >> 16"),
            (3, "c = floor(-8191:q15 + x[0] * 2:q1) >> 15"),
            (4, "w[1] = round(w[0])"),
            (5, "h = round(h)"),
            (5, "x[0] = round(x[0])"),
            (6, "h = quotient(x[0] << 2 / w[0])"),
            (6, "h = quotient_down(x[0] << 10 / w[0])"),
            (7, "h = product(x[i]) >> 13 from 2048  over i in 0..3"),
            (7, "h = product(x[i]) >> 14 from 2047  over i in 0..3"),
            (8, "h = round(x[i]) >> 3  for i in 0..4"),
            (9, "h = round(w[0] << 40 + x[0] * x[0] * 2^-25) >> 42"),
        ] {
            assert_eq!(first(of(line)).0, law, "{line}");
        }
        let far = format!("{START}input y[2]: q-50\nh = round(y[0] << 70) >> 9\n");
        assert_eq!(first(laws(&far.parse().expect("a good text"))), (2, "a shift by more than 63".into()));
        // The widest sum of two products of 16 bits is 2^31 exactly: one bit more than 32.
        let wide = |accumulator: u32, bound: &str| {
            let text =
                "word 16\naccumulator A\ninput x[2]: q0\ntemporary h: q0\nh = round(+ x[i] * x[i])B  over i in 0..2\n";
            laws(&text.replace('A', &accumulator.to_string()).replace('B', bound).parse().expect("a good text"))
        };
        assert_eq!((wide(33, ""), wide(32, " within ranges")), (Ok(()), Ok(())));
        assert_eq!(first(wide(32, "")), (9, "a sum of 33 bits in an accumulator of 32".into()));
        let coarse = "temporary k: q-1\nk = round(p[0]) >> 1\n";
        assert_eq!(first(of(coarse)).0, 10);
        let finer = "temporary k: q15\nk = round(x[0] << 1)\n";
        assert_eq!(first(of(finer)).0, 11);
        let largest = "temporary k: q15\nk = round(max x[i] * 2:q1)  over i in 0..3\n";
        assert_eq!(first(of(largest)).0, 11);
        let parameter = format!("{START}parameter q[2]: q0 = [1]\n").parse::<Program>().expect("a good text");
        assert_eq!(first(laws(&parameter)), (1, "it has 1 words of 2".into()));
    }

    /// The text form cannot say this: settings of a product or a start that is absent.
    #[test]
    fn what_is_absent_has_no_settings() {
        let with = |line: &str, change: Change| {
            let mut program: Program = format!("{START}{line}\n").parse().expect("a good text");
            change(&mut program.operations[0].kind);
            laws(&program)
        };
        let (start, product) = ("h = round(x[0]) >> 3", "h = round(+ w[0] * x[0]) >> 16");
        let changes: [(&str, Change); 4] = [
            (start, |kind| {
                if let Kind::MultiplyAdd { square, .. } = kind {
                    *square = true;
                }
            }),
            (start, |kind| {
                if let Kind::MultiplyAdd { scale, .. } = kind {
                    *scale = 1;
                }
            }),
            (start, |kind| {
                if let Kind::MultiplyAdd { combine, .. } = kind {
                    *combine = Combine::Subtract;
                }
            }),
            (product, |kind| {
                if let Kind::MultiplyAdd { align, .. } = kind {
                    *align = 1;
                }
            }),
        ];
        for (line, change) in changes {
            let (law, why) = first(with(line, change));
            assert!(law == 2 && why.starts_with("what is absent"), "law {law}: {why}");
        }
        // Nothing at all is 0, however it is shifted.
        assert_eq!(
            with(start, |kind| if let Kind::MultiplyAdd { start, .. } = kind {
                *start = None;
            }),
            Ok(())
        );
    }

    #[test]
    #[should_panic(expected = "law 5 of fixed-point IR")]
    fn a_bug_stops_the_compiler() {
        verify(&format!("{START}x[0] = round(x[0])\n").parse().expect("a good text"));
    }

    /// Each operation that breaks a law is named, with its line.
    #[test]
    fn all_broken_laws_are_told() {
        let text =
            format!("{START}h = round(w[0] << 1) >> 1\nx[0] = round(x[0])\nh = round(x[i]) >> 3  for i in 0..4\n");
        let broken = laws(&text.parse().expect("a good text")).expect_err("three laws");
        let told: Vec<_> = broken.iter().map(|one| (one.stage, one.law, one.entity, one.text.as_str())).collect();
        let operation = Entity::Operation;
        assert_eq!(
            told,
            [
                (Stage::Fixed, 2, operation(0), "h = round(w[0] << 1) >> 1"),
                (Stage::Fixed, 5, operation(1), "x[0] = round(x[0])"),
                (Stage::Fixed, 8, operation(2), "h = round(x[i]) >> 3  for i in 0..4"),
            ]
        );
    }
}

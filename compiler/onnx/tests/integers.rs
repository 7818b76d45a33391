//! Results of integer types: the integer of 128-bit arithmetic where the type has it, otherwise refused with tensor and value.

mod written;

use arch::{Code, Diagnostic};
use compiler::canonical::{Batch, Keep, Options as Wanted};
use compiler::fixed::Numbers;
use compiler::language::Options;
use compiler::tensor::{Program, Role, TensorId};
use onnx::wire::{put_bytes, put_integer};
use onnx::{File, Reading, Weights};
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::ladder::{NamedValues, Upper};
use written::{info, info_of, message, model, model_of, node, tensor, tensor_of};

const UINT8: u64 = 2;
const INT8: u64 = 3;
const UINT16: u64 = 4;
const INT16: u64 = 5;
const INT32: u64 = 6;
const INT64: u64 = 7;
const UINT32: u64 = 12;

fn read(parts: &[(u64, Vec<u8>)]) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> {
    program(&model(parts))
}

fn program(bytes: &[u8]) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> {
    let options = Options::default();
    let reading = Reading { options: &options, given: &[], beside: &|_| Err("none".into()), weights: Weights::None };
    File::decode(bytes).expect("a file").program(&reading)
}

/// The elements of the only result on golden, or what it says.
fn golden(program: &Program, inputs: &[&[i128]]) -> Result<Vec<f64>, Diagnostic> {
    let mut golden = Golden::new(program);
    let given = (0..program.tensors.len()).filter(|&id| program.tensors[id].role == Role::Input);
    for (id, values) in given.zip(inputs) {
        golden.set(TensorId(id), &values.iter().map(|&value| value as f64).collect::<Vec<_>>());
    }
    golden.step().map_err(|wrong| *wrong)?;
    Ok(golden.value(program.names[0].1).map(|value| value.expect("a value")).collect())
}

fn holds(element: u64, value: i128) -> bool {
    match element {
        INT32 => i32::try_from(value).is_ok(),
        UINT32 => u32::try_from(value).is_ok(),
        // Where double precision has every integer.
        _ => value.abs() < 1 << 53,
    }
}

/// One element is what it should be, or is refused by name and value.
fn check(what: &str, element: u64, found: Result<Vec<f64>, Diagnostic>, wanted: i128) {
    match found {
        Ok(values) if holds(element, wanted) => assert_eq!(values, [wanted as f64], "{what}"),
        Err(said) if !holds(element, wanted) => {
            assert_eq!(said.code, Code::Const, "{what}");
            let named = said.message.starts_with(&format!("`y`: the integer {}", wanted as f64));
            assert!(named, "{what}: {}", said.message);
        }
        other => panic!("{what}: {other:?}, and {wanted} is right"),
    }
}

#[test]
fn two_operands() {
    type Operation = fn(i128, i128) -> i128;
    let operations: [(&str, Operation); 5] = [
        ("Add", |a, b| a + b),
        ("Sub", |a, b| a - b),
        ("Mul", |a, b| a * b),
        ("Div", |a, b| a / b),
        ("Max", i128::max),
    ];
    let most = |element| match element {
        INT32 => i128::from(i32::MAX),
        UINT32 => i128::from(u32::MAX),
        _ => (1 << 53) - 1,
    };
    for element in [INT32, INT64, UINT32] {
        let ends = [most(element), most(element) - 1, 1 << 16, 3, 2, 1, -1, -2, -7, -(1 << 16), -most(element)];
        let values: Vec<i128> = ends.into_iter().filter(|&value| holds(element, value)).collect();
        for (operator, exact) in operations {
            let (program, warnings) = read(&[
                (1, node("", operator, &["a", "b"], "y")),
                (11, info_of("a", element, &[Ok(1)])),
                (11, info_of("b", element, &[Ok(1)])),
                (12, info_of("y", element, &[])),
            ])
            .expect("a program");
            assert_eq!(warnings, []);
            for &a in &values {
                for &b in &values {
                    let what = format!("{operator} of type {element}: {a} and {b}");
                    check(&what, element, golden(&program, &[&[a], &[b]]), exact(a, b));
                }
            }
        }
    }
}

#[test]
fn one_operand() {
    type Operation = fn(i128) -> i128;
    let lowest = i128::from(i32::MIN);
    let operations: [(&str, Operation); 2] = [("Neg", |a| -a), ("Abs", i128::abs)];
    for (operator, exact) in operations {
        let parts =
            [(1, node("", operator, &["a"], "y")), (11, info_of("a", INT32, &[Ok(1)])), (12, info_of("y", INT32, &[]))];
        let (program, _) = read(&parts).expect("a program");
        for a in [lowest, lowest + 1, -1, 0, 5, i128::from(i32::MAX)] {
            check(&format!("{operator} of {a}"), INT32, golden(&program, &[&[a]]), exact(a));
        }
    }
}

fn cast(from: u64, to: u64) -> Program {
    let to_type = message(|b| {
        put_bytes(b, 1, b"to");
        put_integer(b, 3, to);
        put_integer(b, 20, 2);
    });
    let mut cast = node("", "Cast", &["a"], "y");
    put_bytes(&mut cast, 5, &to_type);
    read(&[(1, cast), (11, info_of("a", from, &[Ok(1)])), (12, info_of("y", to, &[]))]).expect("a program").0
}

#[test]
fn conversions() {
    for (from, to) in [(INT64, INT32), (INT32, UINT32), (UINT32, INT32), (INT32, INT64), (INT64, UINT32)] {
        let program = cast(from, to);
        for a in [i128::from(i32::MIN), -1, 0, 7, i128::from(i32::MAX), i128::from(u32::MAX), (1 << 32) + 1] {
            if holds(from, a) {
                check(&format!("{a} of type {from} to {to}"), to, golden(&program, &[&[a]]), a);
            }
        }
    }
    // A number with a fraction is truncated, one beyond the type refused.
    let program = cast(1, INT32);
    let real = |value: f64| {
        let mut golden = Golden::new(&program);
        golden.set(TensorId(0), &[value]);
        golden.step().map(|()| golden.value(program.names[0].1).next().flatten().expect("a value"))
    };
    assert_eq!((real(-3.75), real(2.5)), (Ok(-3.0), Ok(2.0)));
    for beyond in [3e9, f64::INFINITY, f64::NAN] {
        assert_eq!(real(beyond).expect_err("beyond").code, Code::Const, "{beyond}");
    }
}

/// Sums and products along an axis, also where they leave double precision on the way and come back.
#[test]
fn reductions() {
    let large = (1i128 << 53) - 1;
    let rows: [&[i128]; 5] =
        [&[1, 2, 4], &[1 << 30, 1 << 30, 1], &[large, 3, -large], &[-(1 << 31), 1 << 20, 0], &[1 << 27, 1 << 27, 0]];
    for element in [INT32, INT64] {
        for operator in ["ReduceSum", "ReduceProd", "ReduceMean"] {
            let parts = [
                (1, node("", operator, &["a"], "y")),
                (11, info_of("a", element, &[Ok(3)])),
                (12, info_of("y", element, &[])),
            ];
            let (program, _) = read(&parts).expect("a program");
            for row in rows.into_iter().filter(|row| row.iter().all(|&value| holds(element, value))) {
                let (sum, product): (i128, i128) = (row.iter().sum(), row.iter().product());
                let wanted = match operator {
                    "ReduceSum" => sum,
                    "ReduceProd" => product,
                    _ => sum / 3,
                };
                let mut partial = row.iter().scan((0i128, 1i128), |(sum, product), &value| {
                    (*sum, *product) = (*sum + value, *product * value);
                    Some(if operator == "ReduceProd" { *product } else { *sum })
                });
                let exact = partial.all(|partial| partial.abs() < 1 << 53);
                match golden(&program, &[row]) {
                    Ok(values) => {
                        assert!(holds(element, wanted), "{operator} of {row:?}: {values:?}");
                        assert!(exact, "{operator} of {row:?}: {values:?}");
                        assert_eq!(values, [wanted as f64], "{operator} of {row:?}");
                    }
                    Err(said) => {
                        assert_eq!(said.code, Code::Const);
                        assert!(
                            !holds(element, wanted) || !exact || operator == "ReduceMean" && !holds(element, sum),
                            "{operator} of {row:?}: {}",
                            said.message
                        );
                    }
                }
            }
        }
    }
}

fn int64s(name: &str, values: &[i64]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    tensor_of(name, INT64, &[values.len() as u64], |b| put_bytes(b, 9, &bytes))
}

#[test]
fn constants_beyond_double_precision_are_told() {
    let with = |operator: &str, values: &[i64]| {
        read(&[
            (1, node("", operator, &["a", "c"], "y")),
            (5, int64s("c", values)),
            (11, info_of("a", INT64, &[Ok(2)])),
            (12, info_of("y", INT64, &[])),
        ])
        .expect("a program")
    };
    let (program, warnings) = with("Sub", &[5, (1 << 53) + 1]);
    let [said] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!(said.code, Code::WarnNumber);
    assert!(said.message.starts_with("element 1 of `c` is 9007199254740992"), "{}", said.message);
    assert!(golden(&program, &[&[0, 0]]).is_err());
    assert_eq!(with("Sub", &[5, (1 << 53) - 1]).1, []);
    // The largest value of the type as a bound changes nothing.
    let (program, warnings) = with("Min", &[i64::MAX, 3]);
    assert_eq!((golden(&program, &[&[7, 7]]), warnings.len()), (Ok(vec![7.0, 3.0]), 1));
    // What is read when the file is takes part in no computation.
    let parts = [
        (1, node("", "Slice", &["a", "starts", "ends"], "y")),
        (5, int64s("starts", &[1])),
        (5, int64s("ends", &[i64::MAX])),
        (11, info("a", &[Ok(2)])),
        (12, info("y", &[])),
    ];
    assert_eq!(read(&parts).expect("a program").1, []);
}

/// Constants are computed when the file is read, and wrap.
#[test]
fn constants_wrap() {
    let constant = |values: &[i32]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        tensor_of("c", INT32, &[values.len() as u64], |b| put_bytes(b, 9, &bytes))
    };
    let square = |values: &[i32]| {
        let (program, _) = read(&[
            (1, node("", "Mul", &["c", "c"], "d")),
            (1, node("", "Add", &["a", "d"], "y")),
            (5, constant(values)),
            (11, info_of("a", INT32, &[Ok(values.len() as u64)])),
            (12, info_of("y", INT32, &[])),
        ])?;
        Ok::<_, Vec<Diagnostic>>(golden(&program, &[&vec![1; values.len()]]).expect("values"))
    };
    let values = [1 << 20, 65537, -46341, 3];
    let wanted: Vec<f64> = values.iter().map(|value: &i32| f64::from(value.wrapping_mul(*value) + 1)).collect();
    assert_eq!(square(&values), Ok(wanted));
    // The square of the largest one is beyond double precision.
    let said = square(&[i32::MAX]).expect_err("no exact value");
    assert!(said[0].code == Code::Const && said[0].message.contains("Mul"), "{said:?}");
}

/// A number with a point has no limits.
#[test]
fn reals_are_not_integers() {
    let parts = [
        (1, node("", "Mul", &["a", "c"], "y")),
        (5, tensor("c", &[1], |b| put_bytes(b, 9, &1e30f32.to_le_bytes()))),
        (11, info("a", &[Ok(1)])),
        (12, info("y", &[])),
    ];
    let (program, warnings) = read(&parts).expect("a program");
    assert_eq!((golden(&program, &[&[2]]), warnings.len()), (Ok(vec![2.0 * f64::from(1e30f32)]), 0));
}

/// The elements of the only result in words of 16 bits.
fn words(program: &Program, inputs: &[&[i128]]) -> Vec<f64> {
    words_of(16, program, inputs).expect("words")
}

/// The same in words of so many bits, or why they do not hold it.
fn words_of(bits: u32, program: &Program, inputs: &[&[i128]]) -> Result<Vec<f64>, Vec<Diagnostic>> {
    in_words(bits, program, inputs).map(|(values, _)| values)
}

/// The same with what is said of binary points.
fn in_words(bits: u32, program: &Program, inputs: &[&[i128]]) -> Result<(Vec<f64>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let given = (0..program.tensors.len()).filter(|&id| program.tensors[id].role == Role::Input);
    let real = |values: &&[i128]| values.iter().map(|&value| value as f64).collect::<Vec<_>>();
    let values: NamedValues = given.map(|id| program.tensors[id].name.clone()).zip(inputs.iter().map(real)).collect();
    let options = Wanted { keep: Keep::AllNames, batch: Batch::SINGLE };
    let step = std::slice::from_ref(&values);
    let upper = Upper::new(program, &options, &NamedValues::new(), step, &Numbers::of_width(bits))?;
    let mut fixed = Fixed::new(&upper.fixed);
    for (name, values) in &values {
        fixed.set_real(fixed.tensor(name).expect("an input"), values);
    }
    fixed.step();
    Ok((fixed.values(upper.fixed.names[0].1), upper.numbers.notes))
}

/// Quotients just below an integer, roots of squares and powers: words give the integers of exact arithmetic.
#[test]
fn words_cut_off_as_integers_do() {
    let a: Vec<i128> = vec![29999, 32000, 5, -7, 7, -8, 8, -32767, 0, 1, 32767, 3];
    let b: Vec<i128> = vec![30000, 1, 3, 2, -2, -3, 9, 32767, -5, 2, 32766, 3];
    let count = a.len() as u64;
    for operator in ["Div", "Mod"] {
        let parts = [
            (1, node("", operator, &["a", "b"], "y")),
            (11, info_of("a", INT32, &[Ok(count)])),
            (11, info_of("b", INT32, &[Ok(count)])),
            (12, info_of("y", INT32, &[])),
        ];
        let (program, _) = read(&parts).expect("a program");
        // The remainder has the sign of the divisor.
        let rest = |a: i128, b: i128| a - b * (a as f64 / b as f64).floor() as i128;
        let wanted = a.iter().zip(&b).map(|(&a, &b)| if operator == "Mod" { rest(a, b) } else { a / b } as f64);
        assert_eq!(words(&program, &[&a, &b]), wanted.collect::<Vec<_>>(), "{operator}");
    }
    for (operator, rows) in [
        ("ReduceMean", [[29999i128, 0, 1], [-5, 0, -2], [5, 1, 1], [10000, 10000, 10000]]),
        ("ReduceL2", [[3, 4, 0], [2, 3, 6], [100, 0, 0], [1, 1, 1]]),
    ] {
        let parts =
            [(1, node("", operator, &["a"], "y")), (11, info_of("a", INT32, &[Ok(3)])), (12, info_of("y", INT32, &[]))];
        let (program, _) = read(&parts).expect("a program");
        for row in rows {
            let squares: i128 = row.iter().map(|value| value * value).sum();
            let root = (0..=squares).take_while(|root| root * root <= squares).last().expect("a root");
            let wanted = if operator == "ReduceMean" { row.iter().sum::<i128>() / 3 } else { root };
            assert_eq!(words(&program, &[&row]), [wanted as f64], "{operator} of {row:?}");
            assert_eq!(golden(&program, &[&row]), Ok(vec![wanted as f64]), "{operator} of {row:?}");
        }
    }
    let (program, _) = read(&[
        (1, node("", "Pow", &["a", "b"], "y")),
        (11, info_of("a", INT32, &[Ok(4)])),
        (11, info_of("b", INT32, &[Ok(4)])),
        (12, info_of("y", INT32, &[])),
    ])
    .expect("a program");
    assert_eq!(words(&program, &[&[3, 2, 5, 2], &[4, 7, 3, -1]]), [81.0, 128.0, 125.0, 0.0]);
}

/// The low bits of a constant that double precision does not have would decide these results, however small they are.
#[test]
fn operands_beyond_double_precision_are_refused() {
    let with = |operator: &str, value: i64| {
        read(&[
            (1, node("", operator, &["a", "c"], "y")),
            (5, int64s("c", &[value])),
            (11, info_of("a", INT64, &[Ok(2)])),
            (12, info_of("y", INT64, &[])),
        ])
    };
    for operator in ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Mod"] {
        for value in [(1 << 53) + 1, i64::MIN + 1] {
            let refused = with(operator, value).expect_err("its low bits are lost");
            assert_eq!(refused[0].code, Code::Const, "{operator}: {refused:?}");
        }
        assert!(with(operator, (1 << 53) - 1).is_ok(), "{operator}");
    }
    let (program, _) = with("BitwiseAnd", (1 << 53) - 1).expect("a program");
    assert_eq!(golden(&program, &[&[5, 1234]]), Ok(vec![5.0, 1234.0]));
}

/// Constants whose sizes are too far apart for one binary point: the small ones become other numbers, which is told with tensor and value.
#[test]
fn whole_constants_beyond_the_words_are_told() {
    let comparison = |values: &[i64]| {
        let parts = [
            (1, node("", "Less", &["a", "c"], "y")),
            (5, int64s("c", values)),
            (11, info_of("a", INT64, &[Ok(3)])),
            (12, info_of("y", 9, &[])),
        ];
        read(&parts).expect("a program").0
    };
    let far = comparison(&[1 << 31, 3, 5]);
    let (_, notes) = in_words(24, &far, &[&[1, 0, -1]]).expect("words");
    let [said] = notes.as_slice() else { panic!("{notes:?}") };
    assert_eq!(said.code, Code::WarnNumber);
    assert!(said.message.starts_with("element 1 of the constants `c`, 3, becomes 0 "), "{}", said.message);
    let near = comparison(&[1 << 20, 3, 5]);
    let quiet = (vec![1.0, 1.0, 1.0], Vec::new());
    assert_eq!(in_words(24, &near, &[&[1, 0, -1]]).expect("words"), quiet);
}

/// An integer in a type of so many bits, the others cut off.
fn cut(value: i128, (bits, signed): (u32, bool)) -> i128 {
    let low = value.rem_euclid(1 << bits);
    if signed && low >= 1 << (bits - 1) { low - (1 << bits) } else { low }
}

/// Golden and words of 8 to 32 bits give these integers; words that have no room refuse.
fn everywhere(what: &str, program: &Program, inputs: &[&[i128]], wanted: &[i128]) -> usize {
    let wanted: Vec<f64> = wanted.iter().map(|&value| value as f64).collect();
    assert_eq!(golden(program, inputs), Ok(wanted.clone()), "{what}, {inputs:?}");
    let held = [8, 10, 12, 16, 17, 18, 20, 24, 32].into_iter().filter(|&bits| {
        words_of(bits, program, inputs).is_ok_and(|found| {
            assert_eq!(found, wanted, "{what} in {bits} bits, {inputs:?}");
            true
        })
    });
    held.count()
}

/// A node of two operands; the second one is a constant, or an input.
fn of_two(node: Vec<u8>, element: u64, (count, constant): (usize, Option<&[i128]>)) -> Program {
    let size = match element {
        UINT8 | INT8 => 1,
        UINT16 | INT16 => 2,
        INT64 => 8,
        _ => 4,
    };
    let extent = [Ok(count as u64)];
    let mut parts = vec![(1, node), (11, info_of("a", element, &extent)), (12, info_of("y", element, &[]))];
    parts.push(match constant {
        Some(values) => {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()[..size].to_vec()).collect();
            (5, tensor_of("b", element, &[count as u64], |b| put_bytes(b, 9, &bytes)))
        }
        None => (11, info_of("b", element, &extent)),
    });
    read(&parts).expect("a program").0
}

const TYPES: [(u64, (u32, bool)); 7] = [
    (UINT8, (8, false)),
    (INT8, (8, true)),
    (UINT16, (16, false)),
    (INT16, (16, true)),
    (UINT32, (32, false)),
    (INT32, (32, true)),
    (INT64, (64, true)),
];

/// Bits, complements and shifts: those of integers in two's complement, by counts of the file and of the caller.
#[test]
fn bits_are_those_of_twos_complement() {
    type Operation = fn(i128, i128) -> i128;
    let operations: [(&str, Operation); 3] =
        [("BitwiseAnd", |a, b| a & b), ("BitwiseOr", |a, b| a | b), ("BitwiseXor", |a, b| a ^ b)];
    let mut held = 0;
    for (element, kind) in TYPES {
        let own = |list: &[i128]| list.iter().map(|&value| cut(value, (kind.0.min(52), kind.1))).collect::<Vec<_>>();
        let (a, b) = (own(&[21, 105, -3, -128, 0, 31743, -32768, 90]), own(&[6, -1, 5, 64, -7, 24577, 511, -19]));
        for (operator, exact) in operations {
            let wanted: Vec<i128> = a.iter().zip(&b).map(|(&a, &b)| exact(a, b)).collect();
            let node = node("", operator, &["a", "b"], "y");
            held += everywhere(operator, &of_two(node.clone(), element, (8, None)), &[&a, &b], &wanted);
            held += everywhere(operator, &of_two(node, element, (8, Some(&b))), &[&a], &wanted);
        }
        let parts = [
            (1, node("", "BitwiseNot", &["a"], "y")),
            (11, info_of("a", element, &[Ok(8)])),
            (12, info_of("y", element, &[])),
        ];
        let wanted: Vec<i128> = a.iter().map(|&a| cut(!a, kind)).collect();
        held += everywhere("BitwiseNot", &read(&parts).expect("a program").0, &[&a], &wanted);
        for left in [true, false] {
            let direction = message(|b| {
                put_bytes(b, 1, b"direction");
                put_bytes(b, 4, if left { b"LEFT" } else { b"RIGHT" });
                put_integer(b, 20, 3);
            });
            let mut shift = node("", "BitShift", &["a", "b"], "y");
            put_bytes(&mut shift, 5, &direction);
            let most = i128::from(kind.0.min(14));
            let counts = [0, 1, 3, most - 1, 5, most - 2, 2, 4];
            let small: Vec<i128> = a.iter().map(|&a| if kind.0 > 16 { a % 512 } else { a }).collect();
            let shifted = |(&a, &n): (&i128, &i128)| if left { cut(a << n, kind) } else { a >> n };
            let wanted: Vec<i128> = small.iter().zip(&counts).map(shifted).collect();
            let what = format!("a shift, left: {left}, of type {element}");
            held += everywhere(&what, &of_two(shift.clone(), element, (8, None)), &[&small, &counts], &wanted);
            held += everywhere(&what, &of_two(shift, element, (8, Some(&counts))), &[&small], &wanted);
        }
    }
    assert!(held > 200, "words held {held} of them");
}

/// Powers of integers with exponents of the caller; what does not fit its type is refused, not another number.
#[test]
fn powers_are_products() {
    let a = [3i128, 2, -5, 7, 10, -1, 1, -1, 0, 0, -2, 1];
    let b = [9i128, 14, 5, 4, 4, 61, 60, 64, 7, 0, -1, -3];
    let wanted = [19683i128, 16384, -3125, 2401, 10000, -1, 1, 1, 0, 1, 0, 1];
    for element in [INT32, INT64] {
        let program = of_two(node("", "Pow", &["a", "b"], "y"), element, (12, None));
        assert!(everywhere("Pow", &program, &[&a, &b], &wanted) >= 5);
        let program = of_two(node("", "Pow", &["a", "b"], "y"), element, (1, None));
        for (a, b) in [(2, 64), (3, 41), (-2, 65), (2, 200)] {
            assert_eq!(golden(&program, &[&[a], &[b]]).expect_err("too large").code, Code::Const, "{a} to the {b}");
        }
    }
    // A power with a fraction is cut off.
    let parts = [
        (1, node("", "Pow", &["a", "b"], "y")),
        (5, tensor("b", &[1], |b| put_bytes(b, 9, &0.5f32.to_le_bytes()))),
        (11, info_of("a", INT32, &[Ok(5)])),
        (12, info_of("y", INT32, &[])),
    ];
    let (program, _) = read(&parts).expect("a program");
    assert_eq!(golden(&program, &[&[3, 4, 8, 15, 16]]), Ok(vec![1.0, 2.0, 2.0, 3.0, 4.0]));
}

/// Before version 13 a row of Hardmax is all dimensions from the axis on.
#[test]
fn rows_of_old_versions_are_flat() {
    let parts = [(1, node("", "Hardmax", &["a"], "y")), (11, info("a", &[Ok(2), Ok(2), Ok(3)])), (12, info("y", &[]))];
    let a = [0, 3, -4, 2, 5, 5, -1, -5, -5, -1, 0, -3];
    let places = |bytes: &[u8]| {
        let found = golden(&program(bytes).expect("a program").0, &[&a]).expect("values");
        (0..found.len()).filter(|&n| found[n] > 0.0).collect::<Vec<_>>()
    };
    assert_eq!(places(&model_of(11, &parts)), [4, 10]);
    assert_eq!(places(&model_of(13, &parts)), [1, 4, 6, 10]);
}

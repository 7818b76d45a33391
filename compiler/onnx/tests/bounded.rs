//! Loops and functions are bounded before they are written out, names stand for one value, and files of constants are those they should be.

mod written;

use arch::{Code, Diagnostic};
use compiler::language::Options;
use compiler::tensor::Program;
use onnx::wire::{put_bytes, put_integer};
use onnx::{File, Reading, Weights};
use std::time::{Duration, Instant};
use written::{info, info_of, message, model, node, tensor, tensor_of};

const INT64: u64 = 7;
const BOOL: u64 = 9;

fn read_with(bytes: &[u8], beside: &[u8]) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> {
    let options = Options::default();
    let beside = |_: &str| Ok(beside.to_vec());
    let reading = Reading { options: &options, given: &[], beside: &beside, weights: Weights::None };
    File::decode(bytes).expect("a file").program(&reading)
}

fn refused(bytes: &[u8]) -> Diagnostic {
    read_with(bytes, &[]).expect_err("an error").remove(0)
}

/// A node with one attribute that is a graph.
fn with_body(node: Vec<u8>, body: &[u8]) -> Vec<u8> {
    let mut node = node;
    put_bytes(
        &mut node,
        5,
        &message(|b| {
            put_bytes(b, 1, b"body");
            put_bytes(b, 6, body);
            put_integer(b, 20, 5);
        }),
    );
    node
}

/// The body of a loop: `nodes` that make `w` of `v`, and a condition that is what it was, or is computed.
fn body(nodes: &[Vec<u8>], condition: &[Vec<u8>]) -> Vec<u8> {
    message(|b| {
        for node in nodes.iter().chain(condition) {
            put_bytes(b, 1, node);
        }
        put_bytes(b, 11, &info_of("step", INT64, &[]));
        put_bytes(b, 11, &info_of("given", BOOL, &[]));
        put_bytes(b, 11, &info("v", &[Ok(3)]));
        put_bytes(b, 12, &info_of("on", BOOL, &[]));
        put_bytes(b, 12, &info("w", &[Ok(3)]));
    })
}

fn looped(steps: i64, body: &[u8]) -> Vec<u8> {
    model(&[
        (1, with_body(node("", "Loop", &["most", "", "x"], "y"), body)),
        (5, tensor_of("most", INT64, &[], |b| put_integer(b, 7, steps as u64))),
        (5, tensor_of("limit", INT64, &[], |b| put_integer(b, 7, 1 << 40))),
        (11, info("x", &[Ok(3)])),
        (12, info("y", &[])),
    ])
}

fn copied() -> Vec<Vec<u8>> {
    vec![node("", "Identity", &["given"], "on")]
}

/// The time includes a machine that is busy.
fn soon<T>(work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    result
}

#[test]
fn loops_end_or_are_refused() {
    let add = [node("", "Add", &["v", "v"], "w")];
    for steps in [60_000, 1 << 53, i64::MAX] {
        let error = soon(|| refused(&looped(steps, &body(&add, &copied()))));
        assert_eq!(error.code, Code::Limit);
        assert!(error.message.contains(&format!("its body runs {steps} times")), "{}", error.message);
    }
    // A condition that is computed decides step by step, up to the same limit.
    let computed = [node("", "Less", &["step", "limit"], "on")];
    assert_eq!(soon(|| refused(&looped(i64::MAX, &body(&add, &computed)))).code, Code::Limit);
    // Loops in loops: each is short.
    let inner = with_body(node("", "Loop", &["most", "", "v"], "w"), &body(&add, &copied()));
    assert_eq!(soon(|| refused(&looped(5_000, &body(&[inner], &copied())))).code, Code::Limit);
    // What is not endless is written out.
    let (program, _) = read_with(&looped(7, &body(&add, &copied())), &[]).expect("a program");
    assert_eq!(program.nests.len(), 7);
    let (program, _) = read_with(&looped(0, &body(&add, &copied())), &[]).expect("a program");
    assert_eq!(program.nests.len(), 1, "a copy");
}

fn function(name: &str, called: &str, times: usize) -> Vec<u8> {
    message(|b| {
        put_bytes(b, 1, name.as_bytes());
        put_bytes(b, 10, b"f");
        put_bytes(b, 4, b"v0");
        put_bytes(b, 5, format!("v{times}").as_bytes());
        for n in 0..times {
            let (from, to) = (format!("v{n}"), format!("v{}", n + 1));
            let mut call = node("", called, &[&from], &to);
            if called != "Neg" {
                put_bytes(&mut call, 7, b"f");
            }
            put_bytes(b, 7, &call);
        }
    })
}

fn calling(name: &str, functions: &[Vec<u8>]) -> Vec<u8> {
    let mut call = node("", name, &["x"], "y");
    put_bytes(&mut call, 7, b"f");
    let mut bytes = model(&[(1, call), (11, info("x", &[Ok(3)])), (12, info("y", &[]))]);
    for function in functions {
        put_bytes(&mut bytes, 25, function);
    }
    bytes
}

#[test]
fn functions_end_or_are_refused() {
    let doubling = |levels: usize| -> Vec<Vec<u8>> {
        let name = |n: usize| format!("F{n}");
        let inner = (1..=levels).map(|n| function(&name(n), &name(n - 1), 2));
        std::iter::once(function("F0", "Neg", 1)).chain(inner).collect()
    };
    let error = soon(|| refused(&calling("F24", &doubling(24))));
    assert_eq!((error.code, error.message.contains("operator f.F24")), (Code::Limit, true), "{}", error.message);
    let (program, _) = read_with(&calling("F4", &doubling(4)), &[]).expect("a program");
    assert_eq!(program.nests.len(), 16);
    let itself = [function("F", "G", 2), function("G", "F", 1)];
    assert_eq!(soon(|| refused(&calling("F", &itself))).code, Code::Limit);
}

#[test]
fn a_name_is_one_value() {
    type Fields = Vec<(u64, Vec<u8>)>;
    let weight = |value: u8| tensor("w", &[1], |b| put_bytes(b, 9, &[0, 0, 128, value]));
    let input = (11, info("x", &[Ok(1)]));
    let twice: [(&str, Fields); 5] = [
        ("initialiser `w`", vec![(5, weight(63)), (5, weight(64)), (1, node("", "Add", &["x", "w"], "y"))]),
        ("result `y`", vec![(1, node("", "Neg", &["x"], "y")), (1, node("", "Abs", &["x"], "y"))]),
        ("result `x`", vec![(1, node("", "Neg", &["x"], "x")), (1, node("", "Abs", &["x"], "y"))]),
        ("result `w`", vec![(5, weight(63)), (1, node("", "Neg", &["x"], "w")), (1, node("", "Abs", &["x"], "y"))]),
        ("input `x`", vec![(11, info("x", &[Ok(1)])), (1, node("", "Neg", &["x"], "y"))]),
    ];
    for (what, mut parts) in twice {
        parts.extend([input.clone(), (12, info("y", &[]))]);
        let error = refused(&model(&parts));
        assert_eq!((error.code, error.message.starts_with(what)), (Code::Redef, true), "{what}: {}", error.message);
    }
    // Old files list initialisers among the inputs.
    let old = [
        (5, weight(63)),
        (11, info("w", &[Ok(1)])),
        input,
        (1, node("", "Add", &["x", "w"], "y")),
        (12, info("y", &[])),
    ];
    assert!(read_with(&model(&old), &[]).is_ok());
}

/// `hashlib.sha1(bytes(range(8)))`
const DIGEST: &str = "67423ebfa8454f19ac6f4686d6c0dc731a3ddd6b";

#[test]
fn files_of_constants_have_the_digest_they_should() {
    let beside: Vec<u8> = (0..8).collect();
    let with = |digest: &str| {
        let entry = |key: &str, value: &str| {
            message(|b| {
                put_bytes(b, 1, key.as_bytes());
                put_bytes(b, 2, value.as_bytes());
            })
        };
        let data = tensor("w", &[2], |b| {
            put_bytes(b, 13, &entry("location", "data.bin"));
            put_bytes(b, 13, &entry("checksum", digest));
            put_integer(b, 14, 1);
        });
        model(&[(1, node("", "Relu", &["w"], "y")), (5, data), (12, info("y", &[]))])
    };
    for good in [DIGEST, &DIGEST.to_uppercase(), ""] {
        assert!(read_with(&with(good), &beside).is_ok(), "{good}");
    }
    let mut other = beside.clone();
    other[7] = 0;
    for (digest, bytes) in [(DIGEST, &other), ("00", &beside)] {
        let error = read_with(&with(digest), bytes).expect_err("an error").remove(0);
        assert_eq!((error.code, error.message.contains("SHA-1")), (Code::Data, true), "{}", error.message);
    }
}

#[test]
fn open_dimensions_are_the_batch() {
    // -1 and, of Paddle, 0 are what is open, as a name is.
    for extent in [Ok(u64::MAX), Ok(0), Err("N"), Err("")] {
        let parts = [(1, node("", "Relu", &["x"], "y")), (11, info("x", &[extent, Ok(3)])), (12, info("y", &[]))];
        let (program, warnings) = read_with(&model(&parts), &[]).expect("a program");
        assert_eq!(program.tensors[0].shape, [1, 3]);
        assert_eq!(warnings[0].code, Code::WarnShape);
    }
}

#[test]
fn a_remedy_is_named() {
    let help = |operator: &str| {
        let parts = [(1, node("", operator, &["x"], "y")), (11, info("x", &[Ok(3)])), (12, info("y", &[]))];
        refused(&model(&parts)).help.expect("a remedy")
    };
    assert!(help("FusedConv").contains("`Conv`"));
    assert!(help("NonMaxSuppression").contains("no equivalent"));
}

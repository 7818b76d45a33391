//! Files that are not ONNX, and operators that cannot be translated, are refused with node, operator and remedy.

mod written;

use arch::{Code, Diagnostic};
use compiler::language::Options;
use onnx::wire::{put_bytes, put_integer};
use onnx::{File, Reading, Weights};
use written::{info, message, model, node, tensor};

fn refused(bytes: &[u8]) -> Diagnostic {
    let file = File::decode(bytes).expect("a file");
    let options = Options::default();
    let beside = |name: &str| -> Result<Vec<u8>, String> { panic!("{name} is read") };
    let reading = Reading { options: &options, given: &[], beside: &beside, weights: Weights::None };
    let errors = file.program(&reading).expect_err("an error");
    assert_eq!(errors.len(), 1, "{errors:?}");
    let error = errors.into_iter().next().unwrap();
    assert!(error.span.is_none_or(|span| span.end <= file.text.len()));
    error
}

fn of_node(operator: &str, shapes: [&[Result<u64, &str>]; 2]) -> Diagnostic {
    refused(&model(&[
        (1, node("here", operator, &["a", "b"], "y")),
        (11, info("a", shapes[0])),
        (11, info("b", shapes[1])),
        (12, info("y", &[])),
    ]))
}

#[test]
fn node_operator_and_remedy_are_named() {
    let unknown = of_node("Frobnicate", [&[Ok(2)], &[Ok(2)]]);
    assert_eq!(unknown.code, Code::Unsupported);
    assert!(unknown.message.contains("node `here`, operator Frobnicate"), "{}", unknown.message);
    assert!(unknown.help.unwrap().contains("docs/models.md"));
    let shapes = of_node("MatMul", [&[Ok(2), Ok(3)], &[Ok(2), Ok(3)]]);
    assert_eq!(shapes.code, Code::Shape);
    assert!(shapes.message.contains("the inner extents 3 and 2 differ"), "{}", shapes.message);
    let open = of_node("Add", [&[Ok(2), Err("width")], &[Ok(2)]]);
    assert_eq!(
        (open.code, open.help.unwrap()),
        (Code::Shape, "`--shape width=1` gives it one; all sizes are fixed here".to_owned())
    );
    // The first dimension is the batch: it is 1, and that is said, unless it has a size.
    let batch = model(&[(1, node("", "Relu", &["a"], "y")), (11, info("a", &[Err("N"), Ok(2)])), (12, info("y", &[]))]);
    let of = |set: Option<f64>, name: &str| {
        let set = set.map(|size| (name.to_owned(), size)).into_iter().collect();
        let options = Options { set, ..Options::default() };
        let beside = |_: &str| Err("none".to_owned());
        let reading = Reading { options: &options, given: &[], beside: &beside, weights: Weights::None };
        let (program, warnings) = File::decode(&batch).unwrap().program(&reading).unwrap();
        (program.tensors[0].shape.clone(), warnings)
    };
    let (shape, warnings) = of(None, "N");
    assert_eq!(shape, [1, 2]);
    assert_eq!((warnings[0].code.as_str(), warnings.len()), ("W-SHAPE", 1));
    assert!(warnings[0].help.as_ref().unwrap().contains("--shape N="));
    assert_eq!(of(Some(4.0), "N"), (vec![4, 2], Vec::new()));
    assert_eq!(of(Some(4.0), "a.0"), (vec![4, 2], Vec::new()));
    let computed = of_node("Reshape", [&[Ok(2)], &[Ok(1)]]);
    assert!(computed.help.unwrap().contains("--inputs"));
}

#[test]
fn sizes_are_refused_before_memory_is_taken() {
    let large = of_node("Add", [&[Ok(1 << 40), Ok(1 << 40)], &[Ok(1)]]);
    assert_eq!(large.code, Code::Limit);
    // The product of both, by broadcasting.
    let product = of_node("Add", [&[Ok(1 << 20), Ok(1)], &[Ok(1 << 20)]]);
    assert_eq!(product.code, Code::Limit);
    let constant = |shape: &[u64]| {
        let data = tensor("w", shape, |b| put_bytes(b, 9, &[0; 8]));
        refused(&model(&[(1, node("", "Relu", &["w"], "y")), (5, data), (12, info("y", &[]))]))
    };
    assert_eq!(constant(&[1 << 62, 1 << 62]).code, Code::Data);
    let short = constant(&[3]);
    assert!(short.message.contains("it has 8 bytes where its shape [3] needs 12"), "{}", short.message);
}

#[test]
fn files_beside_a_model_stay_below_its_folder() {
    for place in ["/etc/passwd", "../secret", "a/../../secret", "", "a\\..\\b", "C:secret", "./x"] {
        let entry = message(|b| {
            put_bytes(b, 1, b"location");
            put_bytes(b, 2, place.as_bytes());
        });
        let data = tensor("w", &[2], |b| {
            put_bytes(b, 13, &entry);
            put_integer(b, 14, 1);
        });
        let refused = refused(&model(&[(1, node("", "Relu", &["w"], "y")), (5, data), (12, info("y", &[]))]));
        assert_eq!(refused.code, Code::Data);
        assert!(refused.message.contains("not a file below the folder of the model"), "{place}: {}", refused.message);
    }
}

#[test]
fn damaged_files_are_refused_and_none_panics() {
    assert!(File::decode(b"").is_err());
    assert!(File::decode(b"not an onnx file").is_err());
    let nested = (0..40).fold(model(&[]), |inner, _| {
        message(|b| {
            let attribute = message(|b| put_bytes(b, 6, &inner));
            put_bytes(b, 1, &message(|b| put_bytes(b, 5, &attribute)));
        })
    });
    assert!(File::decode(&message(|b| put_bytes(b, 7, &nested))).is_err());
    let good = include_bytes!("cases.bin");
    let options = Options::default();
    let beside = |_: &str| Err("none".to_owned());
    let reading = Reading { options: &options, given: &[], beside: &beside, weights: Weights::None };
    // Every case cut off at many places, and with one byte changed at many.
    for (number, field) in onnx::wire::fields(good).enumerate().filter(|(number, _)| number % 8 == 0) {
        let case = field.unwrap().value.bytes().unwrap();
        let bytes = onnx::wire::fields(case).nth(1).unwrap().unwrap().value.bytes().unwrap();
        for at in (0..bytes.len()).step_by(bytes.len() / 24 + 1) {
            let mut changed = bytes.to_vec();
            changed[at] = changed[at].wrapping_add(1 + number as u8);
            for damaged in [&bytes[..at], &changed[..]] {
                if let Ok(file) = File::decode(damaged) {
                    let _ = file.program(&reading);
                }
            }
        }
    }
}

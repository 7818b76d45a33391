//! `score`: a function on the rows of a table.

mod tool;

use serde_json::json;
use tool::{file, run};

/// Scores of two classes, of two columns. The third row is wrong on purpose.
const PROGRAM: &str = "def f(float(2) x) -> (s) { s(c) = x(c) * 1 where c in 0:2 }";
const TABLE: &str = "a,b,class\n0.5,0.25,left\n0.25,0.75,right\n0.75,0.5,right\n-1,0.5,right\n";

#[test]
fn functions_are_scored_by_the_names_of_their_classes() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "s.tc", PROGRAM);
    let data = file(folder.path(), "d.csv", TABLE);
    for engine in ["golden", "fixed", "array"] {
        let found = run(&["score", &program, "--data", &data, "--engine", engine, "--format", "json"]).json();
        assert_eq!(found["classes"], json!(["left", "right"]), "{found}");
        assert_eq!(found["score"]["accuracy"], json!(0.75), "{engine}: {found}");
        assert_eq!(found["score"]["confusion"], json!([[1, 0], [1, 2]]), "{engine}: {found}");
        assert_eq!(found["score"], found["golden"]);
    }
}

/// Two columns of numbers as targets, chosen by name: R2 by hand.
#[test]
fn numbers_are_scored_by_their_residuals() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "s.tc", PROGRAM);
    let data = file(folder.path(), "d.csv", "u,a,v,b\n1,1,2,2\n3,3,4,4\n5,5,6,4\n");
    let line = ["score", &program, "--data", &data, "--format", "json", "--target"];
    let found = run(&[&line[..], &["u,v"]].concat()).json();
    // Residual: 4 of one element; variance: 8 of each column.
    assert_eq!(found["score"]["r2"], json!(0.75), "{found}");
    let refused = run(&[&line[..], &["u,w"]].concat());
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("no column `w`"), "{}", refused.stderr);
}

/// onnxruntime 1.x takes 1663 of the 1797 rows for their class.
#[test]
fn a_model_is_scored_on_a_table() {
    let line = ["score", "examples/digits_mlp.onnx", "--data", "examples/digits.csv", "--engine", "golden"];
    let found = run(&[&line[..], &["--format", "json"]].concat()).json();
    let right: u64 = (0..10).map(|class| found["score"]["confusion"][class][class].as_u64().unwrap_or(0)).sum();
    assert_eq!((right, &found["rows"]), (1663, &json!(1797)), "{found}");
}

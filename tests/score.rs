//! `score`: a function on the rows of a table.

mod tool;

use serde_json::json;
use tool::{done, fails, file};

/// Scores of two classes, of two columns. The third row is wrong on purpose.
const PROGRAM: &str = "def f(float(2) x) -> (s) { s(c) = x(c) * 1 where c in 0:2 }";
const TABLE: &str = "a,b,class\n0.5,0.25,left\n0.25,0.75,right\n0.75,0.5,right\n-1,0.5,right\n";

#[test]
fn functions_are_scored_by_the_names_of_their_classes() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "s.tc", PROGRAM);
    let data = file(folder.path(), "d.csv", TABLE);
    for engine in ["golden", "fixed", "array"] {
        let found = done(&["score", &program, "--data", &data, "--engine", engine, "--format", "json"]).json();
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
    let found = done(&[&line[..], &["u,v"]].concat()).json();
    // Residual: 4 of one element; variance: 8 of each column.
    assert_eq!(found["score"]["r2"], json!(0.75), "{found}");
    fails(&["score", &program, "--data", &data, "--target", "u,w"], 1, &["column `w`"]);
}

/// So many of the 1797 rows onnxruntime 1.x takes for their class, and `LiteRT` of the model in integers (tests/score/int8.py).
#[test]
fn models_are_scored_on_a_table() {
    for (model, expected) in [("examples/digits_mlp.onnx", 1663), ("tests/score/digits_int8.tflite", 1743)] {
        let line = ["score", model, "--data", "examples/digits.csv", "--engine", "golden", "--format", "json"];
        let found = done(&line).json();
        let right: u64 = (0..10).map(|class| found["score"]["confusion"][class][class].as_u64().unwrap_or(0)).sum();
        assert_eq!((right, &found["rows"]), (expected, &json!(1797)), "{model}: {found}");
    }
}

fn score(model: &str, data: &str, more: &[&str]) -> serde_json::Value {
    let path = format!("tests/score/{model}.onnx");
    done(&[&["score", path.as_str(), "--data", data, "--format", "json"], more].concat()).json()
}

fn near(found: &serde_json::Value, expected: f64) {
    assert!((found.as_f64().unwrap() - expected).abs() < 1e-6, "{found} instead of {expected}");
}

/// Pipelines of scikit-learn with a label and probabilities: figures of onnxruntime, by `tests/score/models.py`.
#[test]
fn pipelines_are_scored_as_scikit_learn_scores_them() {
    let cases = [
        (
            "wine",
            "wine",
            [0.983_146_067_4, 0.983_813_773_7, 0.999_864_769_4],
            json!([[59, 0, 0], [2, 68, 1], [0, 0, 48]]),
        ),
        ("cancer", "breast_cancer", [0.973_637_961_3, 0.979_253_112_0, 0.994_463_823_3], json!([[200, 12], [3, 354]])),
        (
            "trees",
            "wine",
            [0.955_056_179_8, 0.957_176_556_9, 0.995_392_342_6],
            json!([[55, 4, 0], [2, 67, 2], [0, 0, 48]]),
        ),
    ];
    for (model, data, [accuracy, f1, auc], confusion) in cases {
        let found = score(model, &format!("examples/{data}.csv"), &["--engine", "golden"]);
        near(&found["score"]["accuracy"], accuracy);
        near(&found["score"]["f1"], f1);
        near(&found["score"]["auc"], auc);
        assert_eq!(found["score"]["confusion"], confusion, "{model}");
    }
    let found = score("diabetes", "examples/diabetes.csv", &["--engine", "fixed"]);
    near(&found["golden"]["r2"], 0.499_788_213_6);
    assert!((found["score"]["r2"].as_f64().unwrap() - 0.499_788_213_6).abs() < 1e-3, "{found}");
}

/// A model whose classes are texts: those of the table, in any order, and of a result that is nothing but a label.
#[test]
fn classes_are_known_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["setosa", "versicolor", "virginica"];
    let text = std::fs::read_to_string("examples/iris.csv").unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in &mut lines[1..] {
        let class: usize = line.pop().unwrap().to_digit(10).unwrap() as usize;
        *line += names[class];
    }
    lines[1..].reverse();
    let data = file(folder.path(), "iris.csv", lines.join("\n"));
    for (model, engine) in [("iris", "golden"), ("iris", "array"), ("labels", "golden"), ("labels", "fixed")] {
        let found = score(model, &data, &["--engine", engine, "--shape", "X.0=1"]);
        assert_eq!(found["classes"], json!(names), "{model}");
        assert_eq!(found["score"]["confusion"], json!([[50, 0, 0], [0, 49, 1], [0, 3, 47]]), "{model} {engine}");
        assert_eq!(found["score"]["auc"].is_null(), model == "labels", "labels have no order");
    }
    // Numbers are not its classes.
    fails(&["score", "tests/score/iris.onnx", "--data", "examples/iris.csv"], 1, &["`setosa`, `versicolor`"]);
}

/// A record of four rows: 178 rows are 44 records and a half, and the score is that of rows one by one.
#[test]
fn records_of_several_rows_are_scored_row_by_row() {
    for engine in ["golden", "array"] {
        let found = score("wine", "examples/wine.csv", &["--engine", engine, "--shape", "X.0=4"]);
        assert_eq!(found["rows"], json!(178));
        assert_eq!(found["score"]["confusion"], json!([[59, 0, 0], [2, 68, 1], [0, 0, 48]]), "{engine}");
    }
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "s.tc", "def f(float(3, 2) x) -> (s) { s(c) +=! x(r, c) where r in 0:3 }");
    let data = file(folder.path(), "d.csv", TABLE);
    fails(&["score", &program, "--data", &data], 1, &["`s` has no row for each of them"]);
}

/// One number between 0 and 1 is the chance of the second class; what does not depend on the row is scored, too.
#[test]
fn chances_and_constants_are_scored() {
    let folder = tempfile::tempdir().unwrap();
    let data = file(folder.path(), "d.csv", TABLE);
    let program = file(
        folder.path(),
        "s.tc",
        "def f(float(2) x) -> (s) { s(k) = 1 / (1 + exp(x(0) + 1 - x(1) * 4)) where k in 0:1 }",
    );
    for engine in ["golden", "array"] {
        // By hand: arguments -0.5, 1.75, 0.25 and 2.
        let found = done(&["score", &program, "--data", &data, "--engine", engine, "--format", "json"]).json();
        assert_eq!(found["score"]["confusion"], json!([[1, 0], [0, 3]]), "{engine}");
        assert_eq!((&found["score"]["auc"], &found["classes"]), (&json!(1.0), &json!(["left", "right"])));
    }
    let program = file(folder.path(), "k.tc", "def f(float(2) x) -> (s) { s(c) = 0.5 * c where c in 0:2 }");
    for engine in ["golden", "array"] {
        let found = done(&["score", &program, "--data", &data, "--engine", engine, "--format", "json"]).json();
        assert_eq!(found["score"]["accuracy"], json!(0.75), "{engine}: always the second class");
    }
}

/// An int8 model, on real numbers, which its scale makes integers. Classes are those of `LiteRT`; the first three are wrong on purpose.
#[test]
fn integers_of_tflite_are_scored_as_numbers() {
    const CLASSES: [u8; 24] = [1, 1, 1, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 3, 0, 7, 2, 7];
    let folder = tempfile::tempdir().unwrap();
    let columns: Vec<String> = (0..192).map(|k| format!("x{k}")).collect();
    let mut text = columns.join(",") + ",class\n";
    for (row, class) in CLASSES.iter().enumerate() {
        for k in 0..192 {
            text += &format!("{},", ((row * 31 + k * 17) * (row + 3) % 101) as f64 / 160.0 - 0.3);
        }
        text += &format!("{class}\n");
    }
    let data = file(folder.path(), "d.csv", text);
    for engine in ["golden", "fixed"] {
        let line = ["score", "tests/fuzz/corpus/tflite/network_int8.tflite", "--data", &data, "--engine", engine];
        let found = done(&[&line[..], &["--format", "json"]].concat()).json();
        assert_eq!(found["score"]["accuracy"], json!(21.0 / 24.0), "{engine}: {found}");
    }
}

/// Four integers of step 0.37 around 5 for each of three rows at once: the numbers that `LiteRT`'s results mean, so that nothing is left over.
#[test]
fn results_of_tflite_are_numbers_of_their_scale() {
    const RESULTS: [[i32; 4]; 6] = [
        [63, -39, -25, 30],
        [36, -37, 8, 24],
        [54, -83, 18, -67],
        [64, -63, -15, 12],
        [56, -47, 3, -40],
        [38, -67, -10, 32],
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut text = "a,b,c,d,e,f,p,q,r,s\n".to_owned();
    for (row, results) in RESULTS.iter().enumerate() {
        let given = (0..6).map(|k| f64::from((row as i32 * 5 + k * 7) % 13 - 6) * 0.9);
        let wanted = results.map(|result| f64::from(result - 5) * f64::from(0.37_f32));
        text += &given.chain(wanted).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
        text += "\n";
    }
    let data = file(folder.path(), "d.csv", text);
    let line =
        ["score", "tests/fuzz/corpus/tflite/fully_connected_int8.tflite", "--data", &data, "--target", "p,q,r,s"];
    for engine in ["golden", "array"] {
        let found = done(&[&line[..], &["--engine", engine, "--format", "json"]].concat()).json();
        assert!((found["score"]["r2"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{engine}: {found}");
        assert!(found["score"]["mae"].as_f64().unwrap() < 1e-6, "{engine}: {found}");
    }
}

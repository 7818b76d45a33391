//! Functions on a board: what is resident, and the state of a stream.

use super::{Bench, GRID, Line, config, run, tool};
use std::fs;

/// What is resident is loaded once; the values are those by hand.
#[test]
fn a_function_runs_on_a_board() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).display().to_string()
    };
    let bench = Bench::new(Line::Good);
    // The state of an average goes on from record to record.
    for (text, records, stays, values) in [
        (
            "def dense(float(3) x, float(2,3) W, float(2) b) -> (y) {\n  h(i) +=! W(i,j) * x(j)\n  y(i) = h(i) + b(i)\n}\n",
            r#"[{"x": [1, 2, 4], "W": [[1, -2, 0.5], [0.25, 3, -1]], "b": [0.5, -1]}, {"x": [2, -1, 4]}]"#,
            ["--resident", "W,b"],
            [[-0.5, 1.25], [6.5, -7.5]],
        ),
        (
            "def average(float(2) x, float(2) h) -> (y) {\n  y(i) = 0.5 * h(i) + 0.5 * x(i)\n}\n",
            r#"[{"x": [1, -2]}, {"x": [0, 4]}]"#,
            ["--state", "h=y"],
            [[0.5, -1.0], [0.25, 1.5]],
        ),
    ] {
        let (program, records) = (write("function.tc", text), write("in.json", records));
        let common = ["run", &program, "--port", &bench.name, "--config", &config, "--inputs", &records];
        let ran = run(&[&common[..], &stays, &["--format", "json"]].concat());
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        let board = ran.json();
        tool::schema::holds(&board, "run_function");
        assert_eq!(board["values"], serde_json::json!(values.map(|y| serde_json::json!({ "y": y }))), "{board}");
        assert_eq!((&board["records"], &board["words_compared"]), (&2.into(), &4.into()), "{board}");
    }
    // Arguments are looked at before the board is.
    let dead = ["run", "--port", "/dev/no-such-port"];
    let told = |arguments: &[&str], words: &str| {
        let ran = run(&[&dead, arguments].concat());
        assert!(ran.code == 2 && ran.stderr.contains(words), "{}", ran.stderr);
    };
    told(&["programs/linear.t"], "a training needs its data: --data FILE");
    told(&["programs/linear.t", "--data", "x.csv", "--resident", "w"], "this is for functions");
    told(&["programs/linear.t", "--data", "x.csv", "--inputs", "in.json"], "cannot be used with");
}

/// 9,216 weights where the pads of all PEs have room for 8,192; whole numbers are exact in words.
#[test]
fn a_function_runs_on_a_board_in_segments() {
    const SIZE: usize = 96;
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let program = folder.path().join("dense.tc");
    let text = format!("def dense(float({SIZE}) x, float({SIZE},{SIZE}) W) -> (y) {{\n  y(i) +=! W(i,j) * x(j)\n}}\n");
    fs::write(&program, text).unwrap();
    let value = |n: usize| (n * n % 7 % 3) as f64 - 1.0;
    let row = |i: usize| (0..SIZE).map(|j| value(i * SIZE + j)).collect::<Vec<f64>>();
    let weights: Vec<Vec<f64>> = (0..SIZE).map(row).collect();
    let given: Vec<Vec<f64>> = (SIZE..SIZE + 2).map(row).collect();
    let records: Vec<_> = given.iter().map(|x| serde_json::json!({ "x": x, "W": weights })).collect();
    let inputs = folder.path().join("in.json");
    fs::write(&inputs, serde_json::Value::from(records).to_string()).unwrap();
    let bench = Bench::new(Line::Good);
    let (program, inputs) = (program.display().to_string(), inputs.display().to_string());
    let line = ["run", &program, "--port", &bench.name, "--config", &config, "--inputs", &inputs, "--resident", "W"];
    let whole = run(&line);
    assert!(whole.code == 4 && whole.stderr.contains("does not fit"), "{}\n{}", whole.stdout, whole.stderr);
    let ran = run(&[&line[..], &["--segments", "--format", "json"]].concat());
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let board = ran.json();
    tool::schema::holds(&board, "run_function");
    let product =
        |x: &Vec<f64>| -> Vec<f64> { weights.iter().map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect() };
    let expected: Vec<_> = given.iter().map(|x| serde_json::json!({ "y": product(x) })).collect();
    assert_eq!(board["values"], serde_json::json!(expected));
    assert_eq!((&board["records"], &board["words_compared"]), (&2.into(), &(2 * SIZE).into()), "{board}");
}

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

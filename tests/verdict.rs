//! Verdicts of commands: whether the words suffice, where updates round to nothing, and what calibrations change.

mod tool;

use serde_json::{Value, json};
use tool::{done, file, run};

/// `O = A * 0.5`, of two numbers; words for values up to 1 hold 0.25 and 0.75.
const HALF: &str = "docs/errors/W-CALIBRATION.tc";

#[test]
fn commands_say_whether_their_words_suffice() {
    let folder = tempfile::tempdir().unwrap();
    let scores = file(folder.path(), "s.tc", SCORES);
    let values = json!({ "A": [[0.30, 0.31], [2.0, 0.5], [-1.0, 0.25]] }).to_string();
    let inputs = file(folder.path(), "s.json", values);
    let eval = |extra: &[&str]| {
        let common = ["eval", &scores, "--inputs", &inputs, "--engine", "fixed", "--format", "json"];
        run(&[&common[..], extra].concat())
    };
    let verdict = |extra: &[&str]| eval(extra).json()["verdict"].clone();
    let good = verdict(&[]);
    assert_eq!((&good["suffices"], &good["flips"], &good["rows"]), (&json!(true), &json!(0), &json!(3)), "{good}");
    // Two bits after the binary point make 0.25 of both 0.30 and 0.31, so the first row takes the first class.
    let coarse = file(folder.path(), "c.toml", "[numbers.fractions]\nA = 2\n");
    let bad = verdict(&["--config", &coarse]);
    assert_eq!((&bad["suffices"], &bad["flips"], &bad["rows"]), (&json!(false), &json!(1), &json!(3)), "{bad}");
    assert_eq!(bad["lost_by"], "A", "{bad}");
    let denied = eval(&["--config", &coarse, "--deny-inaccuracy"]);
    assert_eq!(denied.code, 8);
    let codes = denied.json()["diagnostics"].to_string();
    assert!(codes.contains("W-ACCURACY") && codes.contains("E-INACCURATE"), "{codes}");
    assert_eq!(eval(&["--deny-inaccuracy"]).code, 0);
}

/// A softmax of two scores for each of three rows.
const SCORES: &str = "def f(float(3, 2) A) -> (M, E, S, O) {
  M(i) max=! A(i, j)
  E(i, j) = exp(A(i, j) - M(i))
  S(i) +=! E(i, j)
  O(i, j) = E(i, j) / S(i)
}
";

#[test]
fn the_width_that_a_verdict_names_suffices() {
    let folder = tempfile::tempdir().unwrap();
    // A sum of 1000 leaves a term of 0.01 three bits in words of 16.
    let text = "def f(float(2) A, float(2) B) -> (S, O) {\n  S(i) = A(i) + B(i)\n  O(i) = S(i) - A(i)\n}\n";
    let program = file(folder.path(), "p.tc", text);
    let inputs = file(folder.path(), "p.json", r#"{"A": [1000, 900], "B": [0.01, 0.02]}"#);
    let verdict = |word: &str| {
        let word = format!("word={word}");
        let ran =
            run(&["eval", &program, "--inputs", &inputs, "--engine", "fixed", "--format", "json", "--machine", &word]);
        ran.json()["verdict"].clone()
    };
    let bits = verdict("16")["bits_needed"].as_u64().expect("a wider word suffices");
    assert_eq!(verdict(&bits.to_string())["suffices"], true);
    assert_eq!(verdict(&(bits - 1).to_string())["suffices"], false);
}

#[test]
fn updates_that_round_to_nothing_are_counted() {
    let train = |engine: &str, word: &str| {
        let data = ["--data", "examples/breast_cancer.csv", "--machine", word, "--format", "json"];
        done(&[&["train", "docs/errors/W-STALL.t", "--engine", engine][..], &data].concat())
    };
    let (fixed, array) = (train("fixed", "word=8"), train("array", "word=8"));
    assert!(fixed.stderr.contains("W-STALL"), "{}", fixed.stderr);
    let stalls = |ran: &tool::Ran| ran.json()["stalls"].clone();
    assert_eq!(stalls(&fixed), stalls(&array));
    let stall = &stalls(&fixed)[0];
    let count = |epoch: &Value, key: &str| epoch[key].as_u64().unwrap();
    let epochs = stall["epochs"].as_array().unwrap();
    // 455 rows of 30 features, none of which is 0 after standardising.
    assert!(epochs.len() == 2 && epochs.iter().all(|epoch| count(epoch, "updates") == 455 * 30), "{stall}");
    let share = epochs.iter().map(|epoch| count(epoch, "stalled")).sum::<u64>() as f64 / (2.0 * 455.0 * 30.0);
    assert!((stall["share"].as_f64().unwrap() - share).abs() < 1e-12 && share > 0.9, "{stall}");
    let wide = train("fixed", "word=24");
    assert!(!wide.stderr.contains("W-STALL") && !wide.stderr.contains("W-ACCURACY"), "{}", wide.stderr);
}

/// A file of `NumPy`: how long its head is, the head, and the numbers.
fn npy(rows: &[[f64; 2]]) -> Vec<u8> {
    let head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, 2), }}\n", rows.len());
    let numbers = rows.iter().flatten().flat_map(|value| value.to_le_bytes());
    let start = b"\x93NUMPY\x01\x00".iter().copied().chain((head.len() as u16).to_le_bytes());
    start.chain(head.into_bytes()).chain(numbers).collect()
}

/// The same records in each file format give the same words. A small set warns, and so do values that it does not cover.
#[test]
fn binary_points_come_from_a_calibration() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<[f64; 2]> = (0..40).map(|n| [f64::from(n) / 64.0 - 0.25, 0.75 - f64::from(n) / 50.0]).collect();
    let lines = rows.iter().map(|row| json!({ "A": row }).to_string() + "\n").collect::<String>();
    let csv = rows.iter().fold("a,b,kind\n".to_owned(), |csv, [a, b]| csv + &format!("{a},{b},x\n"));
    let whole = Value::from(rows.iter().map(|row| json!({ "A": row })).collect::<Vec<_>>()).to_string();
    let forms = [
        file(folder.path(), "r.jsonl", lines),
        file(folder.path(), "r.csv", csv),
        file(folder.path(), "r.json", whole),
        file(folder.path(), "r.npy", npy(&rows)),
    ];
    let inputs = file(folder.path(), "i.json", r#"{"A": [0.3, -0.2]}"#);
    let large = file(folder.path(), "l.json", r#"{"A": [0.3, 40.0]}"#);
    let eval = |inputs: &str, calibrate: &str| {
        done(&["eval", HALF, "--inputs", inputs, "--engine", "fixed", "--format", "json", "--calibrate", calibrate])
    };
    let alone = done(&["eval", HALF, "--inputs", &inputs, "--engine", "fixed", "--format", "json"]).json();
    for form in &forms {
        let found = eval(&inputs, form);
        assert!(!found.stdout.contains("W-CALIBRATION"), "{form}: {}", found.stdout);
        // 0.75 takes a bit more than 0.3 does, so 0.3 is rounded to another word.
        assert_ne!(found.json()["values"], alone["values"], "{form}");
        assert_eq!(found.json()["values"], eval(&inputs, &forms[0]).json()["values"], "{form}");
        let outside = eval(&large, form).stdout;
        assert!(outside.contains("W-CALIBRATION") && outside.contains("1 value of this run did not fit"), "{outside}");
    }
    // Without other records, what is computed are those of the calibration, which all fit.
    let line = ["sim", HALF, "--engine", "array", "--format", "json", "--machine", "pus=1", "--calibrate", &forms[1]];
    let simulated = done(&line);
    assert!(!simulated.stdout.contains("W-") && !simulated.stderr.contains("made-up"), "{}", simulated.stdout);
    assert_eq!(simulated.json()["verdict"]["suffices"], true, "{}", simulated.stdout);
    let few = eval(&inputs, "docs/errors/W-CALIBRATION.records.json").stdout;
    assert!(few.contains("binary points are chosen from 2 records"), "{few}");
    // Other widths than that of the input, even those that divide it, and what is no number.
    for wrong in ["a,b,c,d\n1,2,3,4\n", "a\n1\n2\n", "a,b\nnan,1\n2,3\n", "a,b\n1,2\n,3\n"] {
        let wrong = file(folder.path(), "w.csv", wrong);
        let refused = run(&["eval", HALF, "--inputs", &inputs, "--engine", "fixed", "--calibrate", &wrong]);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("E-DATA"), "{}", refused.stderr);
    }
}

/// Tables of pandas, and archives of `NumPy`, give what CSV and JSON give.
#[test]
fn a_calibration_comes_from_tables_and_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let text = "def f(float(1) small, float(1) truth) -> (O) {\n  O(i) = small(i) * 0.51 - truth(i)\n}\n";
    let numbers = file(folder.path(), "numbers.tc", text);
    let given = file(folder.path(), "n.json", r#"{"small": [0.3], "truth": [1]}"#);
    let text = "def f(float(2, 3) x, float(2) y) -> (O) {\n  O(i) +=! x(i, j) * 0.3\n  O(i) = O(i) * y(i)\n}\n";
    let pair = file(folder.path(), "pair.tc", text);
    let both = file(folder.path(), "p.json", r#"{"x": [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], "y": [0.1, 0.2]}"#);
    let same = file(folder.path(), "same.json", r#"{"x": [[0.5, -1.25, 3], [2, 0.1, -7.5]], "y": [1, 0]}"#);
    let at = |name: &str| format!("sim/tests/data/{name}");
    for (program, inputs, calibrations) in [
        (&numbers, &given, [at("parquet/numbers.parquet"), at("parquet/numbers.csv")]),
        (&pair, &both, [at("pair.npz"), same]),
    ] {
        let eval = |more: &[&str]| {
            let line = ["eval", program, "--inputs", inputs, "--engine", "fixed", "--format", "json"];
            done(&[&line[..], more].concat()).json()["values"].clone()
        };
        let [one, other] = calibrations.each_ref().map(|calibration| eval(&["--calibrate", calibration]));
        assert_eq!(one, other, "{program}");
        assert_ne!(one, eval(&[]), "{program}");
    }
}

/// A product of more bits than the words have: the document says it, and the distance is that of what it shows.
#[test]
fn integers_that_words_round_are_told_in_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let text = "def f(int32(4) A, int32(4) B) -> (O) {\n  O(i) = (A(i) * B(i)) % 256\n}\n";
    let program = file(folder.path(), "p.tc", text);
    let (a, b) = ([255, 3, 200, 17], [255, 7, 33, 15]);
    let inputs = file(folder.path(), "p.json", json!({ "A": a, "B": b }).to_string());
    let eval = |word: &str| {
        let arguments =
            ["eval", &program, "--inputs", &inputs, "--engine", "fixed", "--format", "json", "--machine", word];
        done(&arguments).json()
    };
    let furthest = |found: &Value| {
        let differ = |(n, found): (usize, &Value)| (found.as_f64().unwrap() - f64::from(a[n] * b[n] % 256)).abs();
        found["values"]["O"].as_array().unwrap().iter().enumerate().map(differ).fold(0.0, f64::max)
    };
    let narrow = eval("word=12");
    assert!(furthest(&narrow) > 0.0, "{narrow}");
    assert_eq!(narrow["distance_from_golden"]["absolute"], furthest(&narrow), "{narrow}");
    assert_eq!(narrow["diagnostics"][0]["code"], "W-NUMBER", "{narrow}");
    let wide = eval("word=18");
    assert_eq!((furthest(&wide), &wide["diagnostics"]), (0.0, &Value::Null), "{wide}");
}

/// Functions of each language, a model and a training: `build` says the way from the source to the image, or up to where.
#[test]
fn builds_say_the_way_from_the_source_to_the_image() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let product = "def f(A, B):\n  return A * B + 0.5\n";
    let tile = file(folder.path(), "p.tile", product);
    let rows = json!({ "A": [1.0, -0.5], "B": [0.25, 2.0] }).to_string();
    let inputs = file(folder.path(), "p.json", rows);
    let rink = file(folder.path(), "p.tml", "var input A : [3]\nvar input B : [3]\nvar output C : [3]\nC = A + B\n");
    let tc = file(folder.path(), "p.tc", "def f(float(4) A) -> (O) { O +=! A(i) * A(i) }\n");
    let large =
        file(folder.path(), "l.tc", "def f(float(101, 100) A, float(100) B) -> (O) { O(i) +=! A(i, j) * B(j) }\n");
    let said = |arguments: &[&str]| {
        let common = ["build", "--config", "tiny", "--out", &out, "--force"];
        let text = done(&[&common[..], arguments].concat()).stdout;
        let lines: Vec<String> =
            text.lines().filter(|line| line.contains("source = canonical:")).map(Into::into).collect();
        assert!(!lines.is_empty(), "{arguments:?}: {text}");
        lines
    };
    let proven = " | canonical ≈ fixed: rounding only | fixed = image: proven: ";
    let model = "examples/digits_mlp.onnx";
    for arguments in [
        &["programs/logistic.t"][..],
        &[&tile, "--inputs", &inputs],
        &[&rink],
        &[&tc],
        &[model, "--inputs", "examples/digit.json"],
    ] {
        let lines = said(arguments);
        assert!(lines.iter().all(|line| line.contains(proven)), "{lines:?}");
    }
    let lines = said(&[&large]);
    assert!(
        lines[0].contains("fixed = image: identical polynomials in 202 of 202 words of 2 steps, p < 2^-"),
        "{lines:?}"
    );
}

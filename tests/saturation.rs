//! Values that do not fit their words: what each command says of them, and that it can be made an error. Trainings that words lose.
//!
//! The expectation is counted here, from the rows and the scales of the model.

mod tool;

use serde_json::Value;
use std::fs;
use std::path::Path;
use tool::{Ran, done, fails, file, run};

const PROGRAM: &str = "programs/linear.t";

/// Rows of three features, almost normally distributed, times `scale`, and a target that is linear in them.
fn rows(count: usize, scale: f64) -> Vec<[f64; 4]> {
    let mut state = 12345u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = || scale * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0);
    let row = |_| {
        let [a, b, c] = [normal(), normal(), normal()];
        [a, b, c, 2.0 * a - b + 0.5 * c + 1.0]
    };
    (0..count).map(row).collect()
}

fn csv(rows: &[[f64; 4]]) -> String {
    rows.iter().fold("a,b,c,y\n".to_owned(), |text, [a, b, c, y]| text + &format!("{a},{b},{c},{y}\n"))
}

/// A model of rows of N(0, 1), and rows 30 times as large.
struct Case {
    _folder: tempfile::TempDir,
    model: String,
    small: String,
    large: String,
}

impl Case {
    fn new(engine: &str) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let small = file(folder.path(), "small.csv", csv(&rows(200, 1.0)));
        let large = file(folder.path(), "large.csv", csv(&rows(50, 30.0)));
        let model = folder.path().join("model.json").display().to_string();
        done(&[
            "train", PROGRAM, "--data", &small, "--set", "m=4", "--engine", engine, "--epochs", "3", "--save", &model,
        ]);
        Case { _folder: folder, model, small, large }
    }

    fn predict(&self, data: &str, more: &[&str]) -> Ran {
        run(&[&["predict", PROGRAM, "--load", &self.model, "--data", data][..], more].concat())
    }
}

fn json(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// How many values of `x` lie outside of the range, and in which rows, from the scales that the model keeps.
fn outside(model: &Value, low: f64, high: f64) -> (u64, Vec<u64>) {
    let scale = |key: &str, n: usize| model["encoding"]["standardise"][key][n].as_f64().unwrap();
    let mut count = (0, Vec::new());
    for (number, row) in (1..).zip(rows(50, 30.0)) {
        let scaled = (0..3).map(|n| (row[n] - scale("mean", n)) / scale("deviation", n));
        let clipped = scaled.filter(|value| *value < low || *value > high).count() as u64;
        count.0 += clipped;
        count.1.extend((clipped > 0).then_some(number));
    }
    count
}

#[test]
fn rows_that_are_far_too_large_are_told() {
    let case = Case::new("fixed");
    let model = json(&case.model);
    let fits = case.predict(&case.small, &["--engine", "fixed", "--deny-saturation", "--format", "json"]);
    assert_eq!((fits.code, fits.stderr.as_str()), (0, ""));
    assert_eq!(fits.json()["saturations"], Value::Array(Vec::new()));

    let ran = case.predict(&case.large, &["--engine", "fixed", "--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let predicted = ran.json();
    tool::schema::holds(&predicted, "predict");
    let found = predicted["saturations"].as_array().unwrap();
    let x = found.iter().find(|found| found["tensor"] == "x").expect("x is clipped");
    let (low, high) = (x["low"].as_f64().unwrap(), x["high"].as_f64().unwrap());
    // Words of 16 bits, whose range is that of the model file.
    assert_eq!((low, high), (-(high + high / 32767.0), 32767.0 * (-low / 32768.0)));
    assert_eq!(model["valid"]["x"], serde_json::json!([low, high]));
    let (values, rows) = outside(&model, low, high);
    assert!(values > 50 && rows.len() > 40, "{values} in {rows:?}");
    assert_eq!((x["results"].as_u64(), x["steps"].as_u64()), (Some(values), Some(rows.len() as u64)));
    assert_eq!(x["first_steps"], serde_json::json!(rows[..10]));
    assert_eq!((&x["unit"], &x["line"]), (&"row".into(), &Value::Null));
    let said = predicted["diagnostics"].to_string();
    assert!(
        said.contains("W-NUMBER") && said.contains(&format!("`x`: {values} values were clipped to {low} .. {high}")),
        "{said}"
    );

    let text = case.predict(&case.large, &["--engine", "fixed"]);
    assert_eq!((text.code, text.stdout.lines().count()), (0, 50));
    assert!(text.stderr.contains("W-NUMBER") && text.stderr.contains("rows (1, 2, "), "{}", text.stderr);
    let denied = case.predict(&case.large, &["--engine", "fixed", "--deny-saturation", "--format", "json"]);
    assert_eq!(denied.code, 7, "{}", denied.stderr);
    let denied = denied.json();
    assert_eq!(denied["predictions"], predicted["predictions"], "the result is there, too");
    assert!(denied["diagnostics"].to_string().contains("E-SATURATED"), "{denied}");

    // The array says what fixed point says.
    let array = case.predict(&case.large, &["--engine", "array", "--format", "json"]).json();
    assert_eq!(array["saturations"], predicted["saturations"]);
    // Real numbers are not clipped, but the model is not made for them.
    let golden = case.predict(&case.large, &["--engine", "golden", "--deny-saturation"]);
    let message = format!(
        "`x`: {values} values are outside of {low} .. {high}, which the model is valid for, in {} rows",
        rows.len()
    );
    assert!(golden.code == 0 && golden.stderr.contains(&message), "{}", golden.stderr);
}

/// A model of real numbers is valid up to the power of two above what training has seen.
#[test]
fn a_model_of_real_numbers_has_a_range_too() {
    let case = Case::new("golden");
    let model = json(&case.model);
    let scaled = |n: usize, row: &[f64; 4]| {
        let scale = |key: &str| model["encoding"]["standardise"][key][n].as_f64().unwrap();
        ((row[n] - scale("mean")) / scale("deviation")).abs()
    };
    let largest = rows(200, 1.0).iter().flat_map(|row| [0, 1, 2].map(|n| scaled(n, row))).fold(1.0, f64::max);
    let bound = model["valid"]["x"][1].as_f64().unwrap();
    assert!(bound / 2.0 < largest && largest <= bound && [2.0, 4.0, 8.0].contains(&bound), "{largest} {bound}");
    assert_eq!(case.predict(&case.small, &["--engine", "golden"]).stderr, "");
    let ran = case.predict(&case.large, &["--engine", "golden"]);
    assert!(ran.stderr.contains("which the model is valid for"), "{}", ran.stderr);
}

#[test]
fn weights_that_do_not_fit_are_told() {
    let case = Case::new("fixed");
    let folder = Path::new(&case.model).parent().unwrap();
    let weights = file(folder, "w.csv", "tensor,element,value\nw,0,0.5\nw,1,1e6\nw,2,0\nw,3,-1e6\n");
    let other = folder.join("other.json").display().to_string();
    let ran = done(&["weights", &case.model, "--from", &weights, "--save", &other]);
    assert!(
        ran.stderr.contains("`w`: 2 values are outside of") && ran.stderr.contains("first element 1"),
        "{}",
        ran.stderr
    );
    let ran =
        run(&["predict", PROGRAM, "--load", &other, "--data", &case.small, "--engine", "fixed", "--deny-saturation"]);
    assert!(ran.code == 7 && ran.stderr.contains("`w`: 2 values were clipped"), "{}", ran.stderr);
}

/// A value with too many bits after its binary point is clipped: -2^15 / 2^12 .. (2^15 - 1) / 2^12 in words of 16 bits.
#[test]
fn every_command_says_what_it_clips() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(folder.path(), "c.toml", "[machine]\npus = 1\npes_per_pu = 2\n\n[numbers.fractions]\ns = 12\n");
    let program =
        file(folder.path(), "f.tc", "def f(float(2) x) -> (s, y) {\n  s(i) = x(i) * 10.0\n  y(i) = s(i) * 0.5\n}\n");
    let inputs = file(folder.path(), "in.json", r#"[{"x": [0.5, 2]}, {"x": [0.25, 0.125]}, {"x": [-3, 1]}]"#);
    let ran =
        done(&["sim", &program, "--inputs", &inputs, "--config", &config, "--engine", "array", "--format", "json"]);
    let found = &ran.json()["saturations"][0];
    let expected = serde_json::json!({ "tensor": "s", "line": 2, "low": -8.0, "high": 7.999_755_859_375, "results": 3, "unit": "record",
        "steps": 2, "first_steps": [1, 3] });
    assert_eq!(found, &expected);
    let sim = ["sim", &program, "--inputs", &inputs, "--config", &config, "--engine", "array", "--deny-saturation"];
    fails(&sim, 7, &["W-NUMBER", "`s`: 3 values were clipped to -8 .. 7.999755859375, in 2 records (1, 3)"]);
    let one = file(folder.path(), "one.json", r#"{"x": [-3, 0.5]}"#);
    for engine in ["fixed", "array"] {
        let eval = ["eval", &program, "--inputs", &one, "--config", &config, "--engine", engine, "--deny-saturation"];
        fails(&eval, 7, &["`s`: 1 value was clipped to -8 .. 7.999755859375, in 1 record (1)"]);
    }
    done(&["eval", &program, "--inputs", &one, "--config", &config, "--deny-saturation"]);
}

/// What is trained with clipped values is not saved if that is denied.
#[test]
fn a_training_that_clips_can_be_denied() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(folder.path(), "c.toml", "[numbers.fractions]\nx = 15\n");
    let data = file(folder.path(), "d.csv", csv(&rows(60, 1.0)));
    let model = folder.path().join("m.json");
    let train = |epochs: &str, more: &[&str]| {
        let settings = [
            "train", PROGRAM, "--data", &data, "--set", "m=4", "--config", &config, "--engine", "fixed", "--epochs",
            epochs,
        ];
        run(&[&settings[..], more].concat())
    };
    let path = model.display().to_string();
    let denied = train("2", &["--save", &path, "--deny-saturation"]);
    assert!(denied.code == 7 && !model.exists(), "{}", denied.stderr);
    assert!(denied.stdout.contains("given, `x`: ") && denied.stdout.contains("updates ("), "{}", denied.stdout);
    assert_eq!(train("2", &["--save", &path]).code, 0);
    // A break changes neither counts nor numbers of updates.
    let counts = |more: &[&str]| train("2", &[&["--format", "json"][..], more].concat()).json()["saturations"].clone();
    let whole = counts(&[]);
    let kept = folder.path().join("kept.json").display().to_string();
    assert_eq!(train("1", &["--checkpoint", &kept]).code, 0);
    let resumed = counts(&["--resume", &kept]);
    assert_eq!(resumed, whole);
}

/// The distance is that of the weights that are saved; a training whose updates are less than half a last place is told.
#[test]
fn a_training_that_words_lose_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let data = file(folder.path(), "d.csv", csv(&rows(200, 1.0)));
    let train = |engine: &str, rate: &str, word: &str| {
        let path = folder.path().join("m.json").display().to_string();
        let (rate, word) = (format!("mu={rate}"), format!("word={word}"));
        let ran = done(&[
            "train",
            PROGRAM,
            "--data",
            &data,
            "--set",
            "m=4",
            "--set",
            &rate,
            "--machine",
            &word,
            "--engine",
            engine,
            "--epochs",
            "3",
            "--save",
            &path,
            "--format",
            "json",
        ]);
        let weights =
            json(&path)["model"]["w"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect::<Vec<_>>();
        (ran, weights)
    };
    let largest = |values: &mut dyn Iterator<Item = f64>| values.map(f64::abs).fold(0.0, f64::max);
    for (rate, word, lost) in [("0.02", "16", false), ("0.0001", "8", true), ("0.0001", "16", false)] {
        let (golden, reals) = train("golden", rate, word);
        let (found, words) = train("fixed", rate, word);
        assert!(golden.json().get("distance_from_golden").is_none());
        let error = largest(&mut reals.iter().zip(&words).map(|(a, b)| a - b));
        let distance = &found.json()["distance_from_golden"];
        for (key, value) in [("absolute", error), ("relative", error / largest(&mut reals.iter().copied()))] {
            let said = distance[key].as_f64().unwrap();
            assert!((said - value).abs() <= 1e-12 * value, "{rate}, {word} bits: {key} is {said}, not {value}");
        }
        assert_eq!(found.stderr.contains("W-ACCURACY"), lost, "{rate}, {word} bits: {}", found.stderr);
    }
}

/// The status of the grid says that computed values were clipped, and only then.
#[test]
fn the_status_of_the_grid_says_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = file(folder.path(), "d.csv", csv(&rows(60, 1.0)));
    // Weights within 1/32, which those of this data leave at once.
    let narrow = file(folder.path(), "narrow.toml", "[numbers.fractions]\nw = 20\n");
    let wide = file(folder.path(), "wide.toml", "");
    for engine in ["fixed", "array"] {
        for (config, clips) in [(&narrow, true), (&wide, false)] {
            let settings =
                ["--set", "m=4", "--config", config, "--engine", engine, "--epochs", "2", "--format", "json"];
            let trained = done(&[&["train", PROGRAM, "--data", &data][..], &settings].concat()).json();
            let computed = trained["saturations"].as_array().unwrap().iter().any(|found| found["line"].is_u64());
            assert_eq!((computed, trained["saturated"].as_bool()), (clips, Some(clips)), "{engine} {trained}");
        }
    }
}

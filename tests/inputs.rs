//! Data in the formats that users have, weights in and out, and trainings that go on later.

mod tool;

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use tool::{done, fails, file, run};

const LOGISTIC: &str = "programs/logistic.t";
const CANCER: &str = "examples/breast_cancer.csv";

/// Train on the fixed engine for two epochs.
fn trained(data: &str, more: &[&str]) -> Value {
    trained_for("2", data, more)
}

fn trained_for(epochs: &str, data: &str, more: &[&str]) -> Value {
    let arguments = ["train", LOGISTIC, "--data", data, "--epochs", epochs, "--engine", "fixed", "--format", "json"];
    done(&[&arguments[..], more].concat()).json()
}

/// The data set as rows of cells; the last one is the label.
fn rows() -> Vec<Vec<String>> {
    let text = fs::read_to_string(CANCER).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_format_gives_the_same_training() {
    let folder = tempfile::tempdir().unwrap();
    let reference = trained(CANCER, &[]);
    let text = fs::read_to_string(CANCER).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let quoted = |separator: &str| {
        let mut out = String::from("\u{feff}");
        out += &(header.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(separator) + "\r\n");
        for row in rows() {
            out += &(row.join(separator) + "\r\n");
        }
        out
    };
    let libsvm = rows().iter().fold(String::new(), |text, row| {
        let (label, features) = row.split_last().unwrap();
        let features = (1..).zip(features).filter(|(_, cell)| cell.parse::<f64>().unwrap() != 0.0);
        features.fold(text + label, |line, (n, cell)| format!("{line} {n}:{cell}")) + "\n"
    });
    let numbers: Vec<Vec<f64>> =
        rows().iter().map(|row| row.iter().map(|cell| cell.parse().unwrap()).collect()).collect();
    let (count, width) = (numbers.len(), numbers[0].len());
    let npy = sim::data::npy::write(&[count, width], &numbers.concat());
    let part = |from: usize, to: usize| numbers.iter().flat_map(|row| row[from..to].to_vec()).collect::<Vec<f64>>();
    let npz = sim::data::npz::write(&[
        ("other".to_owned(), vec![3], vec![1.0; 3]),
        ("x".to_owned(), vec![count, width - 1], part(0, width - 1)),
        ("y".to_owned(), vec![count], part(width - 1, width)),
    ]);
    for (name, bytes, more) in [
        ("semicolon.csv", quoted(";").into_bytes(), &[][..]),
        ("tab.tsv", quoted("\t").into_bytes(), &[]),
        ("packed.csv.gz", gzip(text.as_bytes()), &[]),
        ("data.libsvm", libsvm.clone().into_bytes(), &[]),
        ("data.svm.gz", gzip(libsvm.as_bytes()), &[]),
        ("data.npy", npy, &[]),
        ("data.npz", npz, &["--arrays", "x,y", "--target", "y"]),
    ] {
        let data = file(folder.path(), name, &bytes);
        assert_eq!(trained(&data, more), reference, "{name}");
    }
    let npz = folder.path().join("data.npz").display().to_string();
    let words = ["E-DATA", "`other` has 3 samples and `x` 569", "--arrays"];
    fails(&["train", LOGISTIC, "--data", &npz], 1, &words);
    fails(&["train", LOGISTIC, "--data", &npz, "--arrays", "x,z"], 1, &["no array `z`", "other, x, y"]);
    let broken = file(folder.path(), "broken.csv.gz", &gzip(text.as_bytes())[..1000]);
    fails(&["train", LOGISTIC, "--data", &broken], 1, &["E-DATA", "gzip data is damaged"]);
}

/// Written by `NumPy` 2.4.6: `np.savez`, `np.savez_compressed`, and `np.save` of big-endian integers in column order.
#[test]
fn files_of_numpy_are_read() {
    let read = |name: &str| {
        let bytes = fs::read(format!("sim/tests/data/{name}")).unwrap();
        sim::data::file::read(&bytes, &sim::data::file::Reading::default()).unwrap()
    };
    for name in ["pair.npz", "pair_compressed.npz"] {
        let table = read(name);
        assert_eq!(table.columns, ["x[0]", "x[1]", "x[2]", "y"]);
        assert_eq!(
            table.numbers(&[0, 1, 2, 3]).unwrap(),
            [[0.5, -1.25, 3.0, 1.0], [2.0, f64::from(0.1_f32), -7.5, 0.0]]
        );
    }
    let table = read("fortran.npy");
    assert_eq!(table.numbers(&[0, 1, 2]).unwrap(), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
}

/// Polars wrote both.
#[test]
fn a_parquet_file_trains_as_its_text_does() {
    let trained = |name: &str| {
        let data = format!("sim/tests/data/parquet/{name}");
        let more = ["--target", "truth", "--missing", "mean", "--epochs", "3", "--format", "json"];
        let mut report = done(&[&["train", "programs/linear.t", "--data", &data][..], &more].concat()).json();
        report["data"].take();
        report
    };
    assert_eq!(trained("numbers.parquet"), trained("numbers.csv"));
    fails(
        &["train", "programs/linear.t", "--data", "sim/tests/data/parquet/refused_lists.parquet"],
        1,
        &["E-DATA", "column `x.list.element`", "to_parquet"],
    );
}

#[test]
fn missing_values_are_refused_or_filled_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = fs::read_to_string(CANCER).unwrap().lines().next().unwrap().to_owned() + "\n";
    for (n, mut row) in rows().into_iter().enumerate() {
        for (column, cell) in row.iter_mut().enumerate().take(30) {
            if (7 * n + 3 * column) % 41 == 0 {
                *cell = ["", "NA", "?"][n % 3].to_owned();
            }
        }
        text += &(row.join(",") + "\n");
    }
    let data = file(folder.path(), "gaps.csv", &text);
    let words = ["E-DATA", "row 1 (line 2), column `mean radius`: the cell is empty", "--missing"];
    fails(&["train", LOGISTIC, "--data", &data], 1, &words);
    let model = folder.path().join("m.json").display().to_string();
    for missing in ["mean", "median", "zero"] {
        let result = trained(&data, &["--missing", missing, "--save", &model, "--quiet"]);
        assert!(result["test"]["fixed"]["accuracy"].as_f64().unwrap() > 0.9, "{missing}: {result}");
        let saved: Value = serde_json::from_str(&fs::read_to_string(&model).unwrap()).unwrap();
        assert_eq!(saved["encoding"]["replacements"].as_array().unwrap().len(), 30, "{missing}");
    }
    // The model fills the gaps of new rows as it has learnt; one without that knowledge refuses them.
    let predictions = done(&["predict", LOGISTIC, "--data", &data, "--load", &model, "--format", "json"]).json();
    assert_eq!(predictions["predictions"].as_array().unwrap().len(), 569);
    trained(CANCER, &["--save", &model, "--quiet"]);
    fails(&["predict", LOGISTIC, "--data", &data, "--load", &model], 1, &["E-DATA", "the cell is empty"]);
    let label = file(folder.path(), "label.csv", text.replacen(",0\n", ",\n", 1));
    fails(&["train", LOGISTIC, "--data", &label, "--missing", "mean"], 1, &["column `target`: the label `` is not"]);
}

/// A table as people have it and the same one as numbers, written by hand, train to the same weights; `predict` reads new rows as they were learnt.
#[test]
fn texts_train_as_the_numbers_they_mean() {
    let folder = tempfile::tempdir().unwrap();
    let (mut people, mut numbers) = ("Survived,Name,Sex,Embarked,Pclass,Age,Boarded,Alone\n".to_owned(), String::new());
    numbers += "female,male,C,Q,S,first,third,Age,Boarded,Alone,Survived\n";
    // By Python's `datetime`: 2024-02-28 is day 19,781.
    let (ports, days) = (["C", "Q", "S"], ["2024-02-28", "2024-02-29", "2024-03-01"]);
    for n in 0..60usize {
        let (sex, port, class, day, alone) = (n * 7 % 5 < 2, n * 5 % 3, n % 4 < 2, n * 11 % 3, n * 13 % 7 < 3);
        let survived = u32::from(sex != (n % 9 == 0));
        let age = if n % 8 == 3 { String::new() } else { (18 + n * 17 % 50).to_string() };
        let (name, truth) = (["female", "male"][usize::from(!sex)], ["No", "Yes"][usize::from(alone)]);
        people += &format!(
            "{survived},\"Name, {n}\",{name},{},{},{age},{},{truth}\n",
            ports[port],
            if class { 1 } else { 3 },
            days[day]
        );
        let one = |is: bool| u32::from(is);
        numbers += &format!("{},{},{},{},{},", one(sex), one(!sex), one(port == 0), one(port == 1), one(port == 2));
        numbers += &format!("{},{},{age},{},{},{survived}\n", one(class), one(!class), 19_781 + day, one(alone));
    }
    let (people, numbers) = (file(folder.path(), "people.csv", &people), file(folder.path(), "numbers.csv", numbers));
    let (model, other) =
        (folder.path().join("m.json").display().to_string(), folder.path().join("n.json").display().to_string());
    let columns = ["--target", "Survived", "--drop", "Name", "--categories", "Pclass", "--missing", "mean"];
    trained(&people, &[&columns[..], &["--save", &model, "--quiet"]].concat());
    trained(&numbers, &["--missing", "mean", "--save", &other, "--quiet"]);
    let read = |path: &str| -> Value { serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
    let (texts, plain) = (read(&model), read(&other));
    assert_eq!(texts["model"], plain["model"]);
    assert_eq!(texts["encoding"]["standardise"], plain["encoding"]["standardise"]);
    let names = [
        "Sex=female",
        "Sex=male",
        "Embarked=C",
        "Embarked=Q",
        "Embarked=S",
        "Pclass=1",
        "Pclass=3",
        "Age",
        "Boarded",
        "Alone",
    ];
    assert_eq!(texts["encoding"]["features"], serde_json::json!(names));
    // The names are one message, and so is what the model does not know.
    fails(
        &["train", LOGISTIC, "--data", &people, "--target", "Survived"],
        1,
        &["`Name` holds 60 different texts", "--drop Name"],
    );
    let predict =
        |data: &str, model: &str| run(&["predict", LOGISTIC, "--data", data, "--load", model, "--format", "json"]);
    let (found, expected) = (predict(&people, &model), predict(&numbers, &other));
    assert_eq!((found.code, &found.json()["predictions"]), (0, &expected.json()["predictions"]), "{}", found.stderr);
    let strange = fs::read_to_string(&people).unwrap().replace(",S,", ",X,");
    let strange = file(folder.path(), "strange.csv", strange);
    let refused = run(&["predict", LOGISTIC, "--data", &strange, "--load", &model]);
    assert_eq!(refused.code, 1);
    let said = refused.stderr;
    assert!(said.contains("`X` is not a category") && said.contains("20 cells"), "{said}");
    assert_eq!(said.matches("E-DATA").count(), 1, "{said}");
}

/// Settings of columns stand in the `[train]` table as well, and the command line is stronger.
#[test]
fn columns_are_settings() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = file(folder.path(), "p.t", fs::read_to_string(root.join(LOGISTIC)).unwrap());
    let settings = fs::read_to_string(root.join("programs/logistic.toml")).unwrap();
    let with = |more: &str| file(folder.path(), "p.toml", settings.replace("[train]\n", &format!("[train]\n{more}\n")));
    let rows = (0..20).map(|n| format!("{n},{},{},{}\n", n % 3, n % 7, n % 2)).collect::<Vec<_>>().concat();
    let data = file(folder.path(), "d.csv", format!("id,a,b,target\n{rows}"));
    let features = |more: &[&str]| {
        let model = folder.path().join("m.json").display().to_string();
        let base = ["train", &program, "--data", &data, "--epochs", "1", "--engine", "fixed", "--save", &model];
        let ran = done(&[&base[..], more].concat());
        let saved: Value = serde_json::from_str(&fs::read_to_string(&model).unwrap()).unwrap();
        (saved["encoding"]["features"].to_string(), ran.stderr)
    };
    with("drop = \"id\"");
    assert_eq!(features(&[]).0, r#"["a","b"]"#);
    let (all, said) = features(&["--drop", "b"]);
    assert_eq!(all, r#"["id","a"]"#);
    assert!(said.contains("W-DATA") && said.contains("`id` numbers the rows"), "{said}");
    with("features = [\"b\"]\ncategories = [\"b\"]");
    assert_eq!(features(&[]).0, r#"["b=0","b=1","b=2","b=3","b=4","b=5","b=6"]"#);
    fails(&["train", &program, "--data", &data, "--drop", "ids"], 1, &["no column `ids`", "did you mean `id`?"]);
    with("missing = \"never\"");
    fails(&["train", &program, "--data", &data], 1, &["E-CONFIG", "never"]);
}

#[test]
fn weights_leave_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (model, copy) = (path("m.json"), path("copy.json"));
    let first = trained(CANCER, &["--save", &model, "--quiet", "--set", "mu=0.01"]);
    let saved = |path: &str| serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(saved(&model)["set"]["mu"], 0.01);
    assert_eq!(saved(&model)["shapes"]["w"], serde_json::json!([31]));
    for extension in ["npz", "npy", "csv", "h"] {
        let weights = path(&format!("w.{extension}"));
        done(&["weights", &model, "--to", &weights, "--quiet"]);
        done(&["weights", &model, "--from", &weights, "--save", &copy, "--quiet"]);
        assert_eq!(saved(&copy)["model"], saved(&model)["model"], "{extension}");
        let predict = |model: &str| done(&["predict", LOGISTIC, "--data", CANCER, "--load", model]).stdout;
        assert_eq!(predict(&copy), predict(&model));
        // As the weights to start from: no epoch, the same result.
        let again = trained_for("0", CANCER, &["--weights", &weights, "--set", "mu=0.01"]);
        assert_eq!(again["train"]["fixed"]["accuracy"], first["train"]["fixed"]["accuracy"], "{extension}");
    }
    let header = fs::read_to_string(path("w.h")).unwrap();
    assert!(header.contains("static const int16_t tabla_w[31] = {") && header.contains("#define TABLA_W_FRACTION ("));
    let other = file(folder.path(), "other.csv", "tensor,element,value\nv,0,1\n");
    let words = ["E-DATA", "no weights `v`", "its weights are w"];
    fails(&["weights", &model, "--from", &other, "--save", &copy], 1, &words);
    fails(&["weights", &model, "--to", &path("w.txt")], 2, &[".npz, .npy, .csv or .h"]);
    fails(&["train", LOGISTIC, "--data", CANCER, "--weights", &other], 1, &["no weights `v`"]);
}

/// Broken off by Ctrl-C at some epoch, taken up again: the same words as without the break, on both engines' parts of the work.
#[test]
fn a_training_goes_on_where_it_was_broken_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (kept, whole, resumed) = (path("kept.json"), path("whole.json"), path("resumed.json"));
    let arguments = [
        "train", LOGISTIC, "--data", CANCER, "--config", "tiny", "--epochs", "60", "--batch", "3", "--quiet",
        "--format", "json",
    ];
    let reference = done(&[&arguments[..], &["--save", &whole]].concat()).json();
    let mut breaks = 0;
    loop {
        let keep = if breaks == 0 { "--checkpoint" } else { "--resume" };
        let mut command = tool::tool(&[&arguments[..], &[keep, &kept, "--save", &resumed]].concat());
        let before = fs::read(&kept).ok();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // As soon as something new is kept, break it off; three times, then let it run.
        while breaks < 3 && child.try_wait().unwrap().is_none() && fs::read(&kept).ok() == before {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        if breaks < 3 {
            let signalled = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
            signalled.unwrap();
        }
        let output = child.wait_with_output().unwrap();
        breaks += 1;
        if output.status.code() == Some(130) {
            assert!(!Path::new(&resumed).exists() && breaks <= 3);
            continue;
        }
        assert_eq!(output.status.code(), Some(0));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["test"], reference["test"]);
        assert_eq!(result["samples"], reference["samples"]);
        break;
    }
    let model =
        |path: &str| serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap()["model"].clone();
    assert!(breaks > 1, "the training was never broken off");
    assert_eq!(model(&resumed), model(&whole));
    // More epochs than were asked for at first.
    let longer: Vec<&str> = arguments.iter().map(|&word| if word == "60" { "70" } else { word }).collect();
    done(&[&longer[..], &["--save", &whole]].concat());
    done(&[&longer[..], &["--resume", &kept, "--save", &resumed]].concat());
    assert_eq!(model(&resumed), model(&whole));
    let words = ["E-DATA", "another training: batch was 3, is 4"];
    let other: Vec<&str> = arguments.iter().map(|&word| if word == "3" { "4" } else { word }).collect();
    fails(
        &[
            &other.iter().filter(|&&w| w != "--format" && w != "json").copied().collect::<Vec<_>>()[..],
            &["--resume", &kept],
        ]
        .concat(),
        1,
        &words,
    );
    let damaged = file(folder.path(), "damaged.json", "{\"format_version\": 2,\n \"training\": 7}");
    fails(&["train", LOGISTIC, "--data", CANCER, "--resume", &damaged], 1, &["E-DATA", "line 2: no checkpoint"]);
}

#[test]
fn what_cannot_be_written_is_said_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = file(folder.path(), "file", "") + "/model.json";
    // A data file that does not exist would be the next thing to complain about.
    for option in ["--save", "--checkpoint"] {
        fails(&["train", LOGISTIC, "--data", "nowhere.csv", option, &blocked], 6, &["cannot write", "model.json"]);
    }
    fails(&["train", LOGISTIC, "--data", CANCER, "--out", "out"], 2, &["--out has no effect"]);
    fails(
        &["train", "programs/linear.t", "--data", "examples/diabetes.csv", "--engine", "golden", "--set", "mu=5"],
        1,
        &["diverges"],
    );
}

/// A mask of infinities hides scores before a softmax, which words do, too; golden has a NaN of what words take for 0.
#[test]
fn words_stand_for_infinities_and_nan_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let text = "def f(float(4) S, float(4) M) -> (A, P) {
        A(i) = S(i) + M(i)
        B max=! A(i)
        E(i) = exp(A(i) - B)
        T +=! E(i)
        P(i) = E(i) / T
    }";
    let program = file(folder.path(), "masked.tc", text);
    let eval = |mask: &str, engine: &str, more: &[&str]| {
        let inputs = file(folder.path(), "in.json", format!("{{\"S\": [0.5, 1.5, 3.0, -1.0], \"M\": {mask}}}"));
        run(&[&["eval", &program, "--inputs", &inputs, "--engine", engine, "--format", "json"], more].concat())
    };
    let says = |document: &Value, message: &str| {
        document["diagnostics"].as_array().is_some_and(|all| all.iter().any(|one| one["message"] == message))
    };
    let hidden = r#"[0, 0, "-inf", "-inf"]"#;
    // exp(-1) / (1 + exp(-1)) and the rest of it.
    let wanted = [0.268_941_421, 0.731_058_579, 0.0, 0.0];
    for (engine, most) in [("golden", 1e-8), ("fixed", 1e-3), ("array", 1e-3)] {
        let ran = eval(hidden, engine, &[]);
        let document = ran.json();
        for (found, wanted) in document["values"]["P"].as_array().unwrap().iter().zip(wanted) {
            assert!((found.as_f64().unwrap() - wanted).abs() < most, "{engine}: {document}");
        }
        let message = "2 elements of `M` are values that no word holds; the first, element 2, is \"-inf\"";
        let told = says(&document, message);
        assert_eq!(told, engine != "golden", "{document}");
    }
    let nan = r#"[0, "nan", 0, 0]"#;
    assert_eq!(eval(nan, "golden", &[]).json()["values"]["A"][1], "nan");
    let ran = eval(nan, "array", &[]);
    let document = ran.json();
    assert_eq!((document["values"]["A"][1].as_f64(), ran.code), (Some(1.5), 0));
    assert!(says(&document, "element 1 of `M` is \"nan\", which no word holds"), "{document}");
    assert_eq!(eval(nan, "array", &["--deny-saturation"]).code, 7);
    // What asks for them cannot be answered in words.
    file(folder.path(), "masked.tc", "def f(float(4) S, float(4) M) -> (A) { A(i) = M(i) == M(i) ? S(i) : 0.0 }");
    assert_eq!(eval(nan, "golden", &[]).json()["values"]["A"], serde_json::json!([0.5, 0.0, 3.0, -1.0]));
    let ran = eval(nan, "array", &[]);
    assert_eq!((ran.code, &ran.json()["diagnostics"][0]["code"]), (1, &"E-BACKEND".into()), "{}", ran.stdout);
}

#[test]
fn inputs_that_are_no_words_are_refused_at_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let program = "tests/conformance/tabla/bench_linear_3.t";
    let eval = |inputs: &str, engine: &str| {
        let inputs = file(folder.path(), "in.json", inputs);
        run(&["eval", program, "--inputs", &inputs, "--engine", engine, "--format", "json"])
    };
    let rest = r#""y": 1, "w": [1, 1, 1]"#;
    for engine in ["fixed", "array"] {
        let ran = eval(&format!("{{\"x\": [1, true, 3], {rest}}}"), engine);
        let said = &ran.json()["diagnostics"][0]["message"];
        assert_eq!((ran.code, said), (1, &"`x` holds numbers, not truth values".into()), "{engine}");
    }
    // An element without a value makes undefined what depends on it, on every engine.
    for engine in ["golden", "fixed", "array"] {
        let result = eval(&format!("{{\"x\": [1, null, 3], {rest}}}"), engine).json();
        assert_eq!(result["values"]["h"], Value::Null, "{engine}: {result}");
    }
    let ran = eval("{\"x\": [1, 2, 3],\n  \"z\": 4, \"y\": 1, \"w\": [1, 1, 1]}", "golden");
    let first = &ran.json()["diagnostics"][0];
    assert_eq!((&first["code"], &first["line"], &first["col"]), (&"E-UNDEF".into(), &2.into(), &3.into()));
    // A list may hold the one record that an evaluation takes.
    let record = "{\"x\": [1, 2, 3], \"y\": 1, \"w\": [1, 1, 1]}";
    assert_eq!(eval(&format!("[{record}]"), "golden").json()["values"], eval(record, "golden").json()["values"]);
    for (list, message) in [
        (format!("[{record}, {record}]"), "an evaluation takes one record; this is a list of 2"),
        ("[]".to_owned(), "the list of records is empty"),
    ] {
        let ran = eval(&list, "golden");
        assert_eq!((ran.code, &ran.json()["diagnostics"][0]["message"]), (1, &message.into()));
    }
    let twice = eval("{\"x\": [1, 2, 3], \"y\": 1, \"w\": [1, 1, 1],\n\"y\": 2}", "golden");
    let first = &twice.json()["diagnostics"][0];
    assert_eq!((&first["code"], &first["line"]), (&"E-REDEF".into(), &2.into()));
}

/// Mean and deviation (by n) of the rows that train, here the first four fifths, counted here.
#[test]
fn scales_are_those_of_the_training_rows() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.json").display().to_string();
    let arguments = ["train", LOGISTIC, "--data", CANCER, "--epochs", "1", "--engine", "golden", "--order", "rows"];
    done(&[&arguments[..], &["--save", &model]].concat());
    let model: Value = serde_json::from_str(&fs::read_to_string(&model).unwrap()).unwrap();
    let rows = rows();
    let training = &rows[..rows.len() * 4 / 5];
    let count = training.len() as f64;
    for column in 0..30 {
        let cells = || training.iter().map(|row| row[column].parse::<f64>().unwrap());
        let mean = cells().sum::<f64>() / count;
        let deviation = (cells().map(|cell| (cell - mean).powi(2)).sum::<f64>() / count).sqrt();
        let found = |key: &str| model["encoding"]["standardise"][key][column].as_f64().unwrap();
        let near = |found: f64, expected: f64| (found - expected).abs() <= 1e-9 * expected.abs();
        assert!(
            near(found("mean"), mean) && near(found("deviation"), deviation),
            "column {column}: {mean} {deviation}"
        );
    }
}

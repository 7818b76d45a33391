//! Networks: docs/tables/networks.txt says what the tool measures now, and a network takes the same cycles in every language.

mod tool;

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tool::{done, fails};

/// The rows that are measured in seconds; the others are measured by `measure networks`.
const SMALL: [&str; 3] = ["mobilenet_small", "resnet_small", "transformer_small"];
/// Rows of these: two of them stand there with eight records per step, too.
const ROWS: usize = 5;

#[test]
fn the_page_is_current() {
    let page = fs::read_to_string("docs/tables/networks.txt").unwrap();
    let measured = done(&[&["bench", "--networks", "--quiet", "--format", "json"], &SMALL[..]].concat()).json();
    let measured = measure::tables::networks(&measured).unwrap();
    assert_eq!(measured.lines().count(), 2 + ROWS);
    let old: Vec<&str> = measured.lines().filter(|line| !page.lines().any(|known| known == *line)).collect();
    assert!(old.is_empty(), "run cargo measure networks; docs/tables/networks.txt lacks\n{}", old.join("\n"));
}

#[test]
fn networks_say_what_bounds_them() {
    let document = done(&["bench", "--networks", SMALL[2], "--format", "json"]).json();
    tool::schema::holds(&document, "bench_networks");
    let [row] = &document["networks"].as_array().unwrap()[..] else { panic!("{document}") };
    let measured = &row["measured"];
    let figure = |name: &str| measured[name].as_f64().unwrap();
    assert_eq!(figure("distance"), figure("cycles") / figure("bound"));
    assert_eq!(figure("per_second"), 1e8 / figure("cycles"));
    assert!(figure("words_compared") > 0.0 && row["compile_seconds"].as_f64().unwrap() > 0.0, "{row}");
    fails(&["bench", "--networks", "resnet"], 2, &["there is no network `resnet`", "resnet8"]);
}

/// The small number of a normalisation is 0 as a word, as the limit of a rectifier is: each stands for its own constant.
#[test]
fn a_transformer_is_proven_from_its_source() {
    let proven = done(&["prove", "programs/networks/transformer_small.onnx"]).stdout;
    assert!(proven.contains("up to rounded constants | fixed = image: proven"), "{proven}");
}

/// A product of 256 values is rounded one after the other, in one PE.
#[test]
fn layers_have_cycles_and_slow_ones_are_named() {
    let document = done(&["explain", "docs/errors/W-SLOW.tc", "--format", "json"]).json();
    let [layer] = &document["layers"].as_array().unwrap()[..] else { panic!("{document}") };
    // 256 values on 64 PEs.
    assert_eq!((layer["line"].as_u64(), layer["bound"].as_f64()), (Some(2), Some(4.0)));
    assert!(
        layer["cycles"].as_u64().unwrap() > 3 * 4 && layer["slow"].as_str().unwrap().contains("1 of 64 PEs"),
        "{layer}"
    );
    assert_eq!(document["diagnostics"][0]["code"], "W-SLOW");
    let network = done(&["explain", "programs/networks/mobilenet_small.onnx", "--format", "json"]).json();
    let layers = network["layers"].as_array().unwrap();
    // All nodes but the rectifiers that are computed with the sum before them, and what changes shapes only.
    let begins = |text: &str| layers.iter().filter(|layer| layer["text"].as_str().unwrap().contains(text)).count();
    assert_eq!((begins("Conv("), begins("GlobalAveragePool("), begins("Gemm(")), (3, 1, 1));
}

/// The network of `mobilenet_small.onnx`, with plain indices.
const TILE: &str = "\
def net(X, W0, B0, W1, B1, W2, B2, W3, B3):
  c, h, w, r, s, k = TensorIndexes(6)
  A0 = TensorOutput(8, 4, 4)
  A0[k, h, w] += X[c, 2 * h + r, 2 * w + s] * W0[k, c, r, s]
  T0 = max(A0 + B0, 0.0)
  A1 = TensorOutput(8, 4, 4)
  A1[c, h, w] += T0[c, h + r - 1, w + s - 1] * W1[c, r, s]
  T1 = max(A1 + B1, 0.0)
  A2 = TensorOutput(8, 4, 4)
  A2[k, h, w] += T1[c, h, w] * W2[k, c]
  T2 = max(A2 + B2, 0.0)
  A3 = TensorOutput(8)
  A3[c] += T2[c, h, w]
  T3 = A3 * 0.0625
  A4 = TensorOutput(2)
  A4[k] += T3[c] * W3[k, c]
  y = A4 + B3
  return y
";

/// Made-up elements of a shape.
fn elements(shape: &[usize], seed: &mut u32) -> Value {
    match shape {
        [] => {
            *seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            json!(f64::from(*seed >> 16 & 255) / 128.0 - 1.0)
        }
        [extent, rest @ ..] => (0..*extent).map(|_| elements(rest, seed)).collect(),
    }
}

/// A depthwise convolution of a file has a loop over the one channel of each group, and everything has one over the one record.
#[test]
fn a_network_takes_the_same_cycles_as_a_file_and_as_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let shapes: [(&str, &[usize]); 9] = [
        ("X", &[3, 8, 8]),
        ("W0", &[8, 3, 3, 3]),
        ("B0", &[8, 1, 1]),
        ("W1", &[8, 3, 3]),
        ("B1", &[8, 1, 1]),
        ("W2", &[8, 8]),
        ("B2", &[8, 1, 1]),
        ("W3", &[2, 8]),
        ("B3", &[2]),
    ];
    let mut seed = 1;
    let inputs: serde_json::Map<String, Value> =
        shapes.iter().map(|(name, shape)| ((*name).to_owned(), elements(shape, &mut seed))).collect();
    fs::write(Path::new(&path("net.tile")), TILE).unwrap();
    fs::write(Path::new(&path("net.json")), Value::Object(inputs).to_string()).unwrap();
    let grid = ["--machine", "pus=8", "--machine", "pes_per_pu=8", "--machine", "stream_words=16", "--format", "json"];
    let cycles = |arguments: &[&str]| {
        let document = done(&[&["explain"], arguments, &grid[..]].concat()).json();
        document["cycles_per_sample"].as_f64().unwrap()
    };
    let file = cycles(&["programs/networks/mobilenet_small.onnx"]);
    let (text, records) = (path("net.tile"), path("net.json"));
    let text = cycles(&[&text, "--inputs", &records, "--resident", "W0,B0,W1,B1,W2,B2,W3,B3"]);
    assert_eq!(file, text);
}

/// Two convolutions whose weights are read with rows and columns changed: sums over the inputs of a layer going on, over its outputs coming back.
const TRAINED: &str = "\
def net(float(4,8,8) X, float(8,4,3,3) K1, float(8) B1, float(8,8,3,3) K2, float(8) B2, float(2,8) D) -> (P) {
  C1(m,h,w) +=! X(c, h+kh, w+kw) * K1(m,c,kh,kw)
  A1(m,h,w) = fmax(C1(m,h,w) + B1(m), 0.0)
  C2(m,h,w) +=! A1(c, h+kh, w+kw) * K2(m,c,kh,kw)
  A2(m,h,w) = fmax(C2(m,h,w) + B2(m), 0.0)
  G(m) +=! A2(m,h,w)
  Z(o) +=! G(m) * D(o,m)
  P(o) = 1.0 / (1.0 + exp(0.0 - Z(o)))
}
";

const TRAINED_TABLE: &str = "[train]
prediction = 'P'
loss = 'squared'
weights = ['K1', 'B1', 'K2', 'B2', 'D']
mu = 0.01
standardise = false
";

#[test]
fn convolutions_are_trained_near_their_bound() {
    let grid = ["--machine", "pus=8", "--machine", "pes_per_pu=8", "--machine", "stream_words=16", "--format", "json"];
    let document = done(&[&["explain", "programs/convolutions.tc"], &grid[..]].concat()).json();
    let distance = document["distance"].as_f64().unwrap();
    assert!(distance < 1.2, "{distance}");
}

#[test]
fn weights_are_copied_where_they_are_read_in_two_ways() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("net.tc"), TRAINED).unwrap();
    fs::write(path("net.toml"), TRAINED_TABLE).unwrap();
    let mut seed = 1;
    let row = |seed: &mut u32| {
        let Value::Array(points) = elements(&[4 * 8 * 8 + 2], seed) else { unreachable!("a list") };
        points.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
    };
    fs::write(path("data.csv"), (0..6).map(|_| row(&mut seed) + "\n").collect::<String>()).unwrap();
    let (program, data) = (path("net.tc"), path("data.csv"));
    let grid = ["--machine", "pus=4", "--machine", "pes_per_pu=4", "--format", "json", "--quiet", "--data", &data];
    let document = done(&[&["explain", &program], &grid[..]].concat()).json();
    assert!(document.to_string().contains("K2.copy"), "{document}");
    let trained = [&["train", &program, "--engine", "rtl", "--epochs", "1"], &grid[..]].concat();
    assert_eq!(done(&trained).json()["words_differing"], 0);
}

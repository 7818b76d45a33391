//! Every file that fuzzing has found or begins with (`tests/fuzz/corpus`), replayed: what `scripts/fuzz` calls, and, for what the command line
//! reads itself, the command line.

#[path = "fuzz/inputs/checkpoint.rs"]
mod checkpoint;
#[path = "fuzz/inputs/damage.rs"]
mod damage;
#[path = "fuzz/inputs/data.rs"]
mod data;
#[path = "fuzz/inputs/image.rs"]
mod image;
#[path = "fuzz/inputs/json_inputs.rs"]
mod json_inputs;
#[path = "fuzz/inputs/libsvm.rs"]
mod libsvm;
#[path = "fuzz/inputs/link.rs"]
mod link;
#[path = "fuzz/inputs/npy.rs"]
mod npy;
#[path = "fuzz/inputs/npz.rs"]
mod npz;
#[path = "fuzz/inputs/onnx.rs"]
mod onnx_model;
#[path = "fuzz/inputs/program.rs"]
mod program;
#[path = "fuzz/inputs/saved_model.rs"]
mod saved_model;
#[path = "fuzz/inputs/tflite.rs"]
mod tflite_model;

use compiler::language::Language;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a corpus, sorted.
fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = root().join("tests/fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has nothing to replay", folder.display());
    files
}

/// The exit codes of the command line that say: this input is wrong, or it is right.
const JUDGED: &[i32] = &[0, 1, 2, 4];

#[test]
fn programs() {
    for (target, language) in [
        ("tabla", Language::Tabla),
        ("tensor_comprehensions", Language::TensorComprehensions),
        ("tile", Language::Tile),
        ("rink", Language::Rink),
        ("preprocessor", Language::Preprocessor),
    ] {
        for file in corpus(target) {
            program::read(language, &fs::read(file).unwrap());
        }
    }
}

#[test]
fn models() {
    type Read = fn(&[u8]);
    let readers: [(&str, Read); 2] = [("onnx", onnx_model::read), ("tflite", tflite_model::read)];
    for (target, read) in readers {
        for file in corpus(target) {
            let bytes = fs::read(file).unwrap();
            read(&bytes);
            // Cut off, and with a byte that is another one.
            for at in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
                let mut changed = bytes.clone();
                changed[at] ^= 0x15;
                read(&bytes[..at]);
                read(&changed);
            }
        }
    }
}

#[test]
fn data_sets_and_microcode() {
    for file in corpus("data") {
        data::read(&fs::read(file).unwrap());
    }
    for file in corpus("image") {
        image::run(&fs::read(file).unwrap());
    }
}

/// A target, and what it makes of any bytes: a good file, and what happens to it.
type Built = (&'static str, fn(&[u8]));

const BUILT: [Built; 7] = [
    ("npy", npy::read),
    ("npz", npz::read),
    ("libsvm", libsvm::read),
    ("saved_model", saved_model::read),
    ("checkpoint", checkpoint::read),
    ("json_inputs", json_inputs::read),
    ("link", link::run),
];

#[test]
fn files_that_are_built() {
    for (target, read) in BUILT {
        for file in corpus(target) {
            read(&fs::read(file).unwrap());
        }
    }
}

/// Any bytes will do, so that random ones come far: all kinds of files, whole and damaged. `FUZZ_ROUNDS=100000 FUZZ_SEED=3` tries more, others.
#[test]
fn random_files_are_read_as_they_were_written() {
    let number = |name: &str, otherwise: u64| std::env::var(name).ok().map_or(otherwise, |text| text.parse().unwrap());
    let mut random = ChaCha8Rng::seed_from_u64(number("FUZZ_SEED", 2));
    for round in 0..number("FUZZ_ROUNDS", 600) {
        let mut bytes = vec![0; random.next_u32() as usize % (64 + 2 * round.min(600) as usize)];
        random.fill_bytes(&mut bytes);
        for (_, read) in BUILT {
            read(&bytes);
        }
    }
}

/// Runs the command line in an empty folder, which has to stay empty.
fn judged(arguments: &[&str], file: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    let output = command.args(arguments).arg(file).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| JUDGED.contains(&code)), "{}: {said}", file.display());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{}", file.display());
}

#[test]
fn configs_and_models() {
    let program = root().join("programs/logistic.t");
    let (program, data) = (program.to_str().unwrap(), root().join("examples/breast_cancer.csv"));
    for file in corpus("config") {
        judged(&["check", program, "--config"], &file);
    }
    for file in corpus("model") {
        judged(&["predict", program, "--data", data.to_str().unwrap(), "--load"], &file);
    }
}

/// A few random changes of bytes: another one, one less, a piece twice.
fn damaged(bytes: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.next_u32() % 4 {
        let at = random.next_u32() as usize % (bytes.len() + 1);
        let to = (at + random.next_u32() as usize % 16).min(bytes.len());
        match random.next_u32() % 4 {
            0 => drop(bytes.drain(at..to)),
            1 => bytes.insert(at, random.next_u32() as u8),
            2 => {
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << (random.next_u32() % 8);
                }
            }
        }
    }
    bytes
}

/// Without guidance by coverage, so for a moment only; `scripts/fuzz` is the real thing.
#[test]
fn damaged_files_are_survived() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let languages = [
        ("tabla", Language::Tabla),
        ("tensor_comprehensions", Language::TensorComprehensions),
        ("tile", Language::Tile),
        ("rink", Language::Rink),
        ("preprocessor", Language::Preprocessor),
    ];
    for (target, language) in languages {
        for file in corpus(target) {
            let bytes = fs::read(file).unwrap();
            (0..300).for_each(|_| program::read(language, &damaged(&bytes, &mut random)));
        }
    }
    for file in corpus("data") {
        let bytes = fs::read(file).unwrap();
        (0..300).for_each(|_| data::read(&damaged(&bytes, &mut random)));
    }
    for file in corpus("image") {
        let bytes = fs::read(file).unwrap();
        (0..300).for_each(|_| image::run(&damaged(&bytes, &mut random)));
    }
    let folder = tempfile::tempdir().unwrap();
    let program = root().join("programs/logistic.t");
    for file in corpus("config") {
        let (bytes, place) = (fs::read(file).unwrap(), folder.path().join("config.toml"));
        for _ in 0..20 {
            fs::write(&place, damaged(&bytes, &mut random)).unwrap();
            judged(&["check", program.to_str().unwrap(), "--config"], &place);
        }
    }
}

/// Each target is listed where it is built and where it is run.
#[test]
fn every_target_is_built_run_and_replayed() {
    let script = fs::read_to_string(root().join("scripts/fuzz")).unwrap();
    let manifest = fs::read_to_string(root().join("tests/fuzz/Cargo.toml")).unwrap();
    let this = include_str!("fuzz_corpus.rs");
    for entry in fs::read_dir(root().join("tests/fuzz/fuzz_targets")).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        let list = script.lines().find(|line| line.starts_with("[ $# != 0 ] || set --")).unwrap();
        assert!(list.split(' ').any(|word| word == name), "scripts/fuzz does not run {name}");
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "tests/fuzz/Cargo.toml does not build {name}");
        assert!(this.contains(&format!("\"{name}\"")), "this test does not replay {name}");
    }
}

//! Deployment: the Verilog that is run is the one in the folder, and a fault in it keeps the folder from its place.

use sim::data::file::Reading;
use sim::train::settings::Selection;
use std::fs;
use std::path::{Path, PathBuf};
use workbench::functions::deploy::{Deployed, Deployment, Terms};
use workbench::functions::score::Rows;
use workbench::writing::folder::Earlier;
use workbench::writing::guard::Guard;
use workbench::{Failure, Project, Request};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Deploy into `place`, with `change` made in the written folder before it is judged.
fn deploy(place: &Path, change: &dyn Fn(&Path)) -> (Result<(), Failure>, Option<Deployed>) {
    let request = Request {
        program: Some(root("tests/score/wine.onnx")),
        config: Some(root("configs/tiny.toml")),
        ..Request::default()
    };
    let project = Project::open(&request).unwrap();
    let path = root("examples/wine.csv");
    let rows = Rows { path: &path, reading: Reading::default(), selection: Selection::default() };
    let terms = Terms { within: 0.5, share: 0.5, seed: 1 };
    let deployment = Deployment::new(&project, &rows, terms, &()).unwrap();
    let mut judged = None;
    let check = |folder: &Path| {
        change(folder);
        let deployed = deployment.judge(&project, folder, &())?;
        let refusal = deployed.refusal.clone();
        judged = Some(deployed);
        refusal.map_or(Ok(()), Err)
    };
    let published = deployment.built.files.publish_checked(place, Earlier::Removed, &Guard::default(), check);
    (published, judged)
}

/// One text for another, in a file where it is.
fn replace(folder: &Path, name: &str, old: &str, new: &str) {
    let path = folder.join(name);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(old), "no `{old}` in {name}");
    fs::write(&path, text.replace(old, new)).unwrap();
}

#[test]
fn a_wrong_line_of_the_written_verilog_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("out");
    let nothing = |_: &Path| {};
    let (published, deployed) = deploy(&place, &nothing);
    published.unwrap();
    assert!(deployed.unwrap().points.unwrap() <= 0.5 && place.join("rtl/wine.f").is_file());
    fs::remove_dir_all(&place).unwrap();
    // A product of an operand with itself: words come, and they are wrong.
    let (published, deployed) =
        deploy(&place, &|folder| replace(folder, "rtl/wine_multiply_add.v", "held_a * held_b", "held_a * held_a"));
    let refused = published.unwrap_err();
    assert!(matches!(&refused, Failure::Mismatch(said) if said.contains("written Verilog differs")), "{refused}");
    let deployed = deployed.unwrap();
    assert!(deployed.points.unwrap() > 0.5 && deployed.first_difference.is_some(), "{deployed:?}");
    // A grid that never has a word to send.
    let (published, _) =
        deploy(&place, &|folder| replace(folder, "rtl/wine.v", ".out_valid(out_valid)", ".out_valid()"));
    assert!(matches!(published.unwrap_err(), Failure::Mismatch(_)));
    // Microcode of another program.
    let (published, _) = deploy(&place, &|folder| replace(folder, "function/microcode.hex", "\n10001 ", "\n10002 "));
    let refused = published.unwrap_err().to_string();
    assert!(refused.contains("is not the microcode of this program"), "{refused}");
    assert!(!place.exists(), "nothing is left behind");
}

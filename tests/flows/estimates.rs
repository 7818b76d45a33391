//! Estimates of a grid before synthesis against yosys: DSP and block RAM within 10 %, LUT and FF within 20 %.
//! Slower runs of yosys, such as those of the large grids of the ZCU102, were recorded in `workbench/src/resources.rs`.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// `synth` with a configuration of the project, with `change` made in it.
fn synthesise(name: &str, change: &[(&str, &str)]) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = fs::read_to_string(root.join("configs").join(name)).unwrap();
    for (right, wrong) in change {
        assert!(text.contains(right), "{right} does not stand in {name}");
        text = text.replace(right, wrong);
    }
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    fs::write(&config, text.replace("\"../", &format!("\"{}/", root.display()))).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command.args(["synth", "--format", "json", "--config", "config.toml", "--out", "out"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stderr, output.stdout].concat()));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    crate::tool::schema::holds(&result, "synth");
    result
}

#[track_caller]
fn is_near(result: &Value) {
    let cells = result["synthesis"]["cells"].as_array().unwrap();
    // An iCE40 UltraPlus has large memories, too.
    let names: Vec<&str> = cells.iter().map(|cell| cell["name"].as_str().unwrap()).collect();
    assert_eq!(names.iter().filter(|&&name| name != "SPRAM").collect::<Vec<_>>(), [&"LUT", &"FF", &"DSP", &"BRAM"]);
    for cell in cells {
        let percent = if matches!(cell["name"].as_str(), Some("DSP" | "BRAM")) { 10 } else { 20 };
        let (used, estimated) = (cell["used"].as_u64().unwrap(), cell["estimated"].as_u64().unwrap());
        assert!(100 * used.abs_diff(estimated) <= percent * used, "{cells:#?}");
    }
}

#[test]
fn of_ecp5() {
    is_near(&synthesise(
        "ulx3s-25f.toml",
        &[("pes_per_pu = 8", "pes_per_pu = 2"), ("stream_words = 8", "stream_words = 4")],
    ));
}

/// The program is part of the hardware; the grids of docs/boards.md.
#[test]
fn of_fixed_programs() {
    is_near(&synthesise("icebreaker.toml", &[]));
    is_near(&synthesise("tangnano9k.toml", &[]));
}

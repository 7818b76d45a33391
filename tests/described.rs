//! Metadata of `build` in the formats of others: `FuseSoC` cores and IP-XACT name the files that are there, the ports that the
//! Verilog has, and the registers of docs/registers.md. `measure soc` runs the cores and holds the component to the schema.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

fn build(out: &Path, arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command.args(arguments).arg("build").arg(root.join("programs/logistic.t")).arg("--out").arg(out);
    let output = command.arg("--data").arg(root.join("examples/breast_cancer.csv")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Texts of the elements of a name, in order.
fn elements<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<ipxact:{name}>"), format!("</ipxact:{name}>"));
    text.split(&open).skip(1).map(|rest| rest.split(&close).next().unwrap()).collect()
}

/// Files of a list in a core: `      - rtl/x.v`, with or without what is said of them.
fn files_of_a_core(text: &str) -> Vec<&str> {
    let files =
        text.lines().filter_map(|line| line.strip_prefix("      - ")).map(|line| line.split(':').next().unwrap());
    files.chain(text.contains("rtl/waivers.vlt").then_some("rtl/waivers.vlt")).collect()
}

/// `| 0x24 | steps | ...`, and `| 0x01 | 0x400004 | steps | ...` behind the shell.
fn registers_of_the_manual() -> BTreeSet<(String, u32)> {
    let manual = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/registers.md")).unwrap();
    let rows = manual.lines().filter(|line| line.starts_with("| 0x"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (name, offset) = if cells[2].starts_with("0x") { (cells[3], cells[2]) } else { (cells[2], cells[1]) };
        (name.to_owned(), u32::from_str_radix(&offset[2..], 16).unwrap())
    })
    .collect()
}

#[test]
fn cores_and_component_name_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    build(out, &["--config", "tiny"]);
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    for (core, list) in [("logistic.core", "rtl/logistic.f"), ("logistic_axi.core", "rtl/logistic_axi.f")] {
        let text = read(core);
        let files = files_of_a_core(&text);
        for file in &files {
            assert!(out.join(file).is_file(), "{core}: {file}");
        }
        assert!(read(list).lines().all(|file| files.contains(&file)), "{core} has all of {list}");
        for target in ["sim", "lint", "synth"] {
            assert!(text.contains(&format!("\n  {target}:\n")), "{core} has no {target}");
        }
    }

    let component = read("component.xml");
    let files = elements(elements(&component, "fileSets")[0], "file");
    let files: Vec<&str> = files.iter().map(|file| elements(file, "name")[0]).collect();
    assert_eq!(files, read("rtl/logistic_axi.f").lines().collect::<Vec<_>>());

    // Ports as Verilog declares them: direction, range, name.
    let declared: BTreeSet<String> = read("rtl/logistic_axi.v")
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("input ") || line.starts_with("output "))
        .map(|line| line.trim_end_matches(',').replace(" wire", "").split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let described: BTreeSet<String> = elements(elements(&component, "model")[0], "port")
        .iter()
        .map(|port| {
            let direction = elements(port, "direction")[0].to_owned() + "put";
            let range = elements(port, "vector");
            let range = range.first().map(|r| format!("[{}:{}] ", elements(r, "left")[0], elements(r, "right")[0]));
            format!("{direction} {}{}", range.unwrap_or_default(), elements(port, "name")[0])
        })
        .collect();
    assert_eq!(declared.len(), 32);
    assert_eq!(described, declared);

    // Each port is in one interface.
    let mapped = elements(&component, "physicalPort");
    let mapped: BTreeSet<&str> = mapped.iter().map(|port| elements(port, "name")[0]).collect();
    assert_eq!(mapped.len(), declared.len());
    assert!(declared.iter().all(|port| mapped.contains(port.rsplit(' ').next().unwrap())));

    let registers: BTreeSet<(String, u32)> = elements(&component, "addressBlock")
        .iter()
        .flat_map(|block| {
            let number = |text: &str, name: &str| {
                u32::from_str_radix(elements(text, name)[0].trim_start_matches("'h"), 16).unwrap()
            };
            let base = number(block, "baseAddress");
            let place = move |register: &str| base + number(register, "addressOffset");
            elements(block, "register").into_iter().map(move |r| (elements(r, "name")[0].to_owned(), place(r)))
        })
        .collect();
    assert_eq!(registers, registers_of_the_manual());
}

/// A grid with its program inside has no shell, and nothing describes one.
#[test]
fn a_fixed_program_has_no_shell() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &["--config", "tangnano9k"]);
    for file in
        ["rtl/logistic_axi.v", "rtl/logistic_axi.f", "logistic_axi.core", "component.xml", "testbench/axi.v", "driver"]
    {
        assert!(!folder.path().join(file).exists(), "{file}");
    }
    assert!(folder.path().join("logistic.core").is_file());
}

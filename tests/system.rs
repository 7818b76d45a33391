//! The tables of docs/tables/system.txt: its smallest board is measured again, and every run has a row.

mod tool;

use arch::link::{self, Command, REPLY_HEADER};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use tool::{done, fails, run};

fn page() -> String {
    fs::read_to_string("docs/tables/system.txt").unwrap()
}

#[test]
fn the_smallest_board_takes_what_the_page_says() {
    let arguments = ["bench", "--system", "logistic_30", "--board", "tangnano20k", "--batch", "1", "--format", "json"];
    let rows = done(&arguments).json();
    let measured = measure::tables::systems(&rows).unwrap();
    assert_eq!(measured.lines().count(), 3);
    for line in measured.lines() {
        assert!(
            page().lines().any(|known| known == line),
            "run cargo measure system; docs/tables/system.txt lacks\n{line}"
        );
    }
    tool::schema::holds(&rows, "bench_system");
    let system = &rows["systems"][0]["system"];
    assert_eq!(system["words_differing"], 0, "{rows}");
    assert!(system["words_compared"].as_u64().unwrap() >= 31, "{rows}");
    assert_eq!(system["bound_by"], "grid", "{rows}");
}

/// Programs elsewhere train on the samples that a case has here.
#[test]
fn samples_of_a_case_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let case = workbench::system::read().unwrap().into_iter().find(|case| case.name == "logistic_30").unwrap();
    measure::system::write_samples(&case, folder.path()).unwrap();
    // 31 weights, then 31 inputs and a label of each of the 455 samples.
    let bytes = fs::metadata(folder.path().join("logistic_30.f32")).unwrap().len();
    assert_eq!(bytes, 4 * (31 + 455 * 32));
    let task: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("logistic_30.json")).unwrap()).unwrap();
    assert_eq!((&task["mu"], &task["samples"]), (&0.02.into(), &455.into()), "{task}");
}

/// What takes too long for a test is at least there.
#[test]
fn every_run_has_a_row() {
    let table: toml::Table = fs::read_to_string("programs/system.toml").unwrap().parse().unwrap();
    for case in table["case"].as_array().unwrap() {
        for run in case["runs"].as_array().unwrap() {
            let number = |key: &str, default: i64| run.get(key).map_or(default, |value| value.as_integer().unwrap());
            let (name, board) = (case["name"].as_str().unwrap(), run["board"].as_str().unwrap());
            let row = format!("| {name} | {} | {} | {board} |", number("batch", 1), number("epochs", 20));
            assert!(page().contains(&row), "run cargo measure system; docs/tables/system.txt lacks {row}");
        }
    }
}

/// Cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// Rows of the first table of docs/tables/system.txt by the heads of its columns.
fn rows_of(page: &str) -> Vec<BTreeMap<&str, &str>> {
    let table = page.split("<!-- boards -->\n").nth(1).unwrap().split("<!-- end boards -->").next().unwrap();
    let heads = cells(table.lines().next().unwrap());
    table.lines().skip(2).map(|line| heads.iter().copied().zip(cells(line)).collect()).collect()
}

/// The short table of docs/system.md has the figures of the long one, large ones in millions, and what bounds them if it is not the grid.
#[test]
fn the_page_says_what_a_user_gets() {
    let short = fs::read_to_string("docs/system.md").unwrap();
    let page = page();
    let rows = rows_of(&page);
    let boards = ["ulx3s", "ulx3s-25f", "tangnano20k", "zcu102"];
    for (training, case) in [
        ("logistic regression, 30 features", "logistic_30"),
        ("digits network 64-128-10", "digits_64_128_10"),
        ("linear regression, 784 inputs", "linear_784"),
        ("recommender, 138 x 130", "recommender_138_130_10"),
    ] {
        let said = boards.map(|board| {
            let keys = [("case", case), ("board", board), ("batch", "1"), ("epochs", "20")];
            let row = rows.iter().find(|row| keys.iter().all(|(key, value)| row[key] == *value)).unwrap();
            let speed = row["samples per second"];
            let number: f64 = speed.replace(',', "").parse().unwrap();
            let number = if number >= 1e6 { format!("{:.1} M", number / 1e6) } else { speed.to_owned() };
            match row["bound by"].split(' ').next().unwrap() {
                "grid" => number,
                "store" => number + ", SDRAM",
                other => format!("{number}, {other}"),
            }
        });
        let line = format!("| {training} | {} |", said.join(" | "));
        assert!(short.lines().any(|known| known == line), "docs/system.md lacks\n{line}");
    }
}

/// README.md compares a board with C on one core, by the rows of docs/tables/system.txt.
#[test]
fn the_readme_says_how_much_faster_a_computer_is() {
    let readme = fs::read_to_string("README.md").unwrap();
    let page = page();
    let rows = rows_of(&page);
    let keys = [("case", "logistic_30"), ("board", "ulx3s-25f"), ("batch", "1"), ("epochs", "20")];
    let board =
        rows.iter().find(|row| keys.iter().all(|(key, value)| row[key] == *value)).unwrap()["samples per second"];
    let peer = page.lines().find(|line| line.starts_with("| logistic_30 | 1 | C |")).unwrap();
    let number = |text: &str| text.replace(',', "").parse::<f64>().unwrap();
    let times = format!("{:.1} times", number(cells(peer)[3]) / number(board));
    for said in [board, cells(peer)[3], &times] {
        assert!(readme.contains(said), "README.md lacks {said}");
    }
}

/// The writes that load a program, from the file that `build` writes. `None`: it is part of the hardware.
fn writes_of(out: &Path) -> Option<Vec<(u32, u32)>> {
    let text = fs::read_to_string(out.join("train/microcode.hex")).unwrap();
    let config = fs::read_to_string(out.join("config.toml")).unwrap();
    let number = |word: &str| u32::from_str_radix(word, 16).unwrap();
    let write = |line: &str| line.split_once(' ').map(|(address, data)| (number(address), number(data)));
    let writes = text.lines().filter(|line| !line.starts_with('#')).filter_map(write).collect();
    (!config.contains("\nmicrocode = \"rom\"")).then_some(writes)
}

/// docs/link.md says how long the load of a program takes on each board with a serial port: `cargo test --test system loads -- --nocapture`.
#[test]
fn loads_of_programs_take_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let page = fs::read_to_string("docs/link.md").unwrap();
    let logistic = ["programs/logistic.t", "--data", "examples/breast_cancer.csv"];
    let digits = ["programs/backpropagation.t", "--set", "l2=129", "--data", "examples/digits.csv"];
    let mut rows = String::new();
    for board in ["ulx3s", "ulx3s-25f", "tangnano20k", "tangnano9k", "icebreaker"] {
        for (name, program) in [("logistic", &logistic[..]), ("digits 64-128-10", &digits)] {
            let given = fs::read_to_string(format!("configs/{board}.toml")).unwrap();
            // Memories are fitted to the program.
            let fitted =
                |line: &&str| !["depth", "table_entries", "program =", "data ="].iter().any(|key| line.contains(key));
            let text: Vec<&str> = given.lines().filter(fitted).collect();
            let config = folder.path().join(format!("{board}.toml"));
            fs::write(&config, text.join("\n")).unwrap();
            let out = folder.path().join(format!("{board}-{name}"));
            let [config, folder] = [&config, &out].map(|path| path.to_str().unwrap());
            let ran = run(&[&["build", "--config", config, "--out", folder], program].concat());
            let name_of_board = given.parse::<toml::Table>().unwrap()["board"]["name"].as_str().unwrap().to_owned();
            let facts = fs::read_to_string(format!("fpga/boards/{name_of_board}.toml")).unwrap();
            let facts: fpga::board::Board = toml::from_str(&facts).unwrap();
            let size = facts.device.family().link_size();
            let baud = f64::from(facts.io.unwrap().baud);
            let loaded = match ran.code {
                0 => writes_of(&out),
                4 => {
                    writeln!(rows, "| {board} | {name} | does not fit | | | | |").unwrap();
                    continue;
                }
                code => panic!("exit code {code}: {}", ran.stderr),
            };
            let Some(writes) = loaded else {
                writeln!(rows, "| {board} | {name} | part of the hardware | | | | 0 |").unwrap();
                continue;
            };
            let payloads = link::encode_writes(&writes, size.payload());
            let sent =
                |payload: &Vec<u8>| link::encode(&[&[0, Command::Write as u8], payload.as_slice()].concat()).len();
            let bytes: usize = payloads.iter().map(sent).sum();
            // The last request is answered: two flags and a checksum, nothing escaped.
            let milliseconds = (bytes + REPLY_HEADER + 4) as f64 * 1e4 / baud;
            assert!(milliseconds < 100.0, "{board}, {name}: {milliseconds} ms");
            let requests = payloads.len();
            let unpacked = 8 * writes.len();
            writeln!(
                rows,
                "| {board} | {name} | {} | {unpacked} | {bytes} | {requests} | {milliseconds:.1} |",
                writes.len()
            )
            .unwrap();
        }
    }
    println!("{rows}");
    assert!(page.contains(&rows), "docs/link.md lacks\n{rows}");
}

#[test]
fn unknown_names_are_refused() {
    fails(&["bench", "--system", "logistic"], 2, &["there is no case `logistic`", "logistic_30"]);
    fails(&["bench", "--system", "--board", "ulx"], 2, &["there is no board `ulx`", "tangnano20k, ulx3s"]);
}

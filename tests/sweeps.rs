//! Workflows of `explore`: what their files say, what their jobs leave, and the table of it. Snakemake itself runs in `measure sweep`.

mod tool;

use arch::tools::Toolbox;
use fpga::family::Family;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tool::schema::holds;
use tool::{done, fails, file, finish, tool};

const LOGISTIC: &str = "programs/logistic.t";
const CANCER: &str = "examples/breast_cancer.csv";

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .unwrap()
}

/// A workflow with these arguments in `folder`, and its points.
fn begun(folder: &Path, arguments: &[&str]) -> Value {
    done(&[&["explore"], arguments, &["--workflow", folder.to_str().unwrap(), "--quiet"]].concat());
    let points = read(&folder.join("points.json"));
    holds(&points, "sweep");
    points
}

fn collected(folder: &Path) -> Value {
    done(&["explore", "--collect", folder.to_str().unwrap(), "--quiet", "--format", "json"]).json()
}

/// What a job leaves.
fn leave(folder: &Path, point: &Value, job: &str, result: &Value) {
    let results = folder.join("results").join(point["name"].as_str().unwrap());
    fs::create_dir_all(&results).unwrap();
    fs::write(results.join(format!("{job}.json")), result.to_string()).unwrap();
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

/// The jobs, run one by one as the rules of the workflow say, come to what `explore` finds by itself.
#[test]
fn a_workflow_finds_what_explore_finds() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("a sweep");
    let machines =
        ["--pus", "1,200", "--pes-per-pu", "2", "--stream-words", "2", "--batches", "1,4", "--words", "12,16"];
    let what = [&["--config", "tiny", LOGISTIC, "--data", CANCER, "--set", "mu=0.05"], &machines[..]].concat();
    let sweep = begun(&folder, &what);
    assert_eq!(
        (&sweep["board"], &sweep["synthesis"], &sweep["place_seeds"]),
        (&json!("none"), &json!(false), &json!([]))
    );
    let points = sweep["points"].as_array().unwrap();
    let names: BTreeSet<&str> = points.iter().map(|point| point["name"].as_str().unwrap()).collect();
    assert_eq!((points.len(), names.len()), (8, 8));
    let (refused, possible): (Vec<&Value>, Vec<&Value>) = points.iter().partition(|point| point["refused"].is_string());
    assert!(refused.len() == 4 && refused.iter().all(|point| point["pus"] == 200), "no grid has 200 rows");
    let files = words(&sweep["files"]);
    let file_names: Vec<&str> = files.iter().map(|file| file.rsplit('/').next().unwrap()).collect();
    assert_eq!(file_names, ["tiny.toml", "logistic.t", "logistic.toml", "breast_cancer.csv"]);
    assert!(files.iter().all(|file| file.starts_with("../") && folder.join(file).is_file()), "{files:?}");
    let table = collected(&folder);
    assert_eq!(table["machines"].as_array().unwrap().iter().filter(|machine| machine["open"] == 1).count(), 4);
    for point in &possible {
        let arguments = [&["explore"][..], &words(&point["arguments"]), &["--jobs=1", "--format=json"]].concat();
        let mut job = tool(&arguments);
        job.current_dir(&folder);
        leave(&folder, point, "measure", &finish(job).json());
    }
    let table = collected(&folder);
    let alone = done(&[&["explore"], &what[..], &["--format", "json"]].concat()).json();
    assert_eq!(table, alone);
    assert!(table["machines"][0]["best"] == true && table["machines"][7]["refused"].is_string(), "{table}");
    let kept = read(&folder.join("report/table.json"));
    holds(&kept, "explore");
    assert_eq!(kept, table);
    let csv = fs::read_to_string(folder.join("report/table.csv")).unwrap();
    assert_eq!(csv.lines().count(), 9);
    assert!(csv.starts_with("rank,pus,pes_per_pu,stream_words,batch,word,cycles_per_sample,"), "{csv}");
    let page = fs::read_to_string(folder.join("report/index.html")).unwrap();
    assert!(page.contains("samples per second by look-up tables") && page.contains("<h1>logistic: a sweep</h1>"));
    // Other arguments, other names: no result is taken for one of these. The same ones again keep all.
    let other = begun(&folder, &[&what[..], &["--set", "mu=0.04"]].concat());
    assert!(other["points"].as_array().unwrap().iter().all(|point| !names.contains(point["name"].as_str().unwrap())));
    assert_eq!(begun(&folder, &what), sweep);
    assert_eq!(collected(&folder), table);
}

/// The rules make what the table is made of, with options that the commands have.
#[test]
fn rules_are_there() {
    let folder = tempfile::tempdir().unwrap();
    begun(folder.path(), &["--config", "tiny"]);
    let text = fs::read_to_string(folder.path().join("Snakefile")).unwrap();
    let rules: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("rule ")?.strip_suffix(':')).collect();
    assert_eq!(rules, ["all", "measure", "synth", "place", "collect"]);
    for (rule, result) in [("measure", "measure"), ("synth", "synth"), ("place", "place-{seed}")] {
        let body = text.split(&format!("rule {rule}:\n")).nth(1).unwrap().split("\nrule ").next().unwrap();
        assert!(body.contains(&format!("output: \"results/{{point}}/{result}.json\"\n")), "{body}");
        // A result is renamed into its place.
        assert!(body.contains("keep.format(begin="), "{body}");
        let command = body.split("{params.tool:q} ").nth(1).unwrap().split(' ').next().unwrap();
        let help = done(&[command, "--help"]).stdout;
        for option in body.split(" --").skip(1).map(|rest| rest.split(['=', ' ', '"']).next().unwrap()) {
            assert!(help.contains(&format!("--{option} ")), "{command} has no --{option}");
        }
    }
    assert!(text.contains("mv {{output}}.part {{output}}"));
    let profile = fs::read_to_string(folder.path().join("profiles/default/config.yaml")).unwrap();
    assert!(profile.contains("rerun-incomplete: true\n"));
}

fn measured(speed: f64, limited_by: &str) -> Value {
    json!({ "schema_version": 1, "machines": [{
        "pus": 1, "pes_per_pu": 2, "stream_words": 1, "batch": 1, "word": 16, "rank": 1, "cycles_per_sample": 100.0,
        "samples_per_second": speed, "limited_by": limited_by, "dsp": 3, "bram": 4, "lut": 5000, "fullest": null, "fits": true,
        "best": true, "refused": null }] })
}

fn netlist(lut: u64) -> Value {
    let cell = |name: &str, used: u64, available: u64| json!({ "name": name, "used": used, "available": available, "estimated": 1 });
    let cells = [cell("LUT", lut, 5280), cell("FF", 2000, 5280), cell("DSP", 6, 8), cell("BRAM", 16, 30)];
    json!({ "schema_version": 1, "folder": "x", "synthesis": { "cells": cells } })
}

fn placed(mhz: f64) -> Value {
    let clock = |name: &str, achieved: f64, asked: f64| json!({ "clock": name, "achieved_mhz": achieved, "constraint_mhz": asked });
    json!({ "schema_version": 1, "clocks": [clock("easy", 500.0, 24.0), clock("grid", mhz, 24.0)] })
}

fn refusal(message: &str) -> Value {
    json!({ "schema_version": 1, "diagnostics": [{ "code": "E-BACKEND", "severity": "error", "message": message }] })
}

/// Results written by hand, and what follows from them by hand: medians, lost seeds, speeds of missed clocks, energy, ranks.
#[test]
#[expect(clippy::too_many_lines, reason = "results by hand, and a line for each figure that follows from them")]
fn results_of_a_board_become_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string("configs/icebreaker.toml").unwrap();
    let text = text.replace("../", &format!("{}/", env!("CARGO_MANIFEST_DIR")));
    let text = text.replace("[board]", "[board]\nwatts = 0.5");
    let config = file(folder.path(), "c.toml", text);
    let sweep = begun(
        &folder.path().join("sweep"),
        &["--config", &config, "--batches", "1,2,3,4,5,6", "--place-seeds", "7,5,6,5", "--pes-per-pu", "2"],
    );
    assert_eq!((&sweep["synthesis"], &sweep["place_seeds"]), (&json!(true), &json!([5, 6, 7])));
    assert_eq!((&sweep["clock_mhz"], &sweep["watts"]), (&json!(24.0), &json!(0.5)));
    let folder = folder.path().join("sweep");
    let points = sweep["points"].as_array().unwrap();
    let all = |point: &Value, measure: Value, synth: Value, seeds: [Value; 3]| {
        leave(&folder, point, "measure", &measure);
        leave(&folder, point, "synth", &synth);
        for (seed, result) in (5..).zip(&seeds) {
            leave(&folder, point, &format!("place-{seed}"), result);
        }
    };
    // In time: as fast as it was measured.
    all(&points[0], measured(200_000.0, "multiply-adds"), netlist(3000), [placed(30.0), placed(24.5), placed(28.0)]);
    // The median misses the clock by a half, and a seed is lost: of the two others the slower counts.
    all(
        &points[1],
        measured(200_000.0, "multiply-adds"),
        netlist(3000),
        [placed(26.0), refusal("no place"), placed(12.0)],
    );
    // A line that brings 50,000 samples per second is as fast with a clock of 12 MHz; the grid could take 120,000.
    all(&points[2], measured(50_000.0, "link"), netlist(2500), [placed(12.0), placed(12.0), placed(12.0)]);
    let no = refusal("too large");
    all(&points[3], measured(9e9, "multiply-adds"), no.clone(), [no.clone(), no.clone(), no]);
    // More than there is.
    all(&points[4], measured(9e9, "multiply-adds"), netlist(6000), [placed(30.0), placed(30.0), placed(30.0)]);
    leave(&folder, &points[5], "measure", &measured(1.0, "link"));
    let found = collected(&folder);
    holds(&found, "explore");
    let figure = |row: usize, key: &str| found["machines"][row].pointer(key).cloned().unwrap_or_default();
    let column = |key: &str| (0..6).map(|row| figure(row, key)).collect::<Vec<_>>();
    assert_eq!(column("/rank"), [json!(1), json!(2), json!(3), json!(4), json!(null), json!(null)]);
    let speeds = [200_000.0, 100_000.0, 50_000.0, 1.0, 9e9, 9e9].map(|speed| json!(speed));
    assert_eq!(column("/samples_per_second"), speeds);
    assert_eq!(column("/joules_per_sample")[..3], [2.5e-6, 5e-6, 1e-5].map(|joules| json!(joules)));
    assert_eq!(column("/best")[..4], [true, false, true, false].map(|best| json!(best)));
    assert_eq!(column("/lut"), [3000, 3000, 2500, 5000, 6000, 5000].map(|lut| json!(lut)));
    assert_eq!(column("/open")[3], 4);
    assert_eq!(figure(4, "/fits"), json!(false));
    assert_eq!(figure(5, "/refused"), "too large");
    let clocks =
        |row: usize| ["asked", "median", "least", "most"].map(|part| figure(row, &format!("/clock/{part}_mhz")));
    assert_eq!(clocks(0), [24.0, 28.0, 24.5, 30.0].map(|mhz| json!(mhz)));
    assert_eq!(clocks(1), [24.0, 12.0, 12.0, 26.0].map(|mhz| json!(mhz)));
    assert_eq!((figure(1, "/clock/seeds"), figure(1, "/clock/lost")), (json!(2), json!(1)));
    let page = fs::read_to_string(folder.join("report/index.html")).unwrap();
    for part in [
        "28.00 (24.50 to 30.00)",
        "12.00 (12.00 to 26.00, 1 lost)",
        "misses the clock",
        "4 results to come",
        "too large",
        "2.500",
    ] {
        assert!(page.contains(part), "no {part:?} in\n{page}");
    }
    assert!(page.contains("clock by look-up tables") && page.contains("uJ per sample"));
    let csv = fs::read_to_string(folder.join("report/table.csv")).unwrap();
    assert_eq!(
        csv.lines().nth(2).unwrap(),
        "2,1,2,1,1,16,100.0,100000.0,5e-6,\"multiply-adds\",6,16,3000,24.0,12.0,12.0,26.0,2,1,true,false,"
    );
}

#[test]
fn what_is_no_workflow_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("sweep");
    let name = folder.display().to_string();
    fails(&["explore", "--collect", &name], 6, &["cannot read", "points.json"]);
    fails(&["explore", "--collect", &name, "--pus", "1"], 2, &["cannot be used with"]);
    fails(&["explore", "--config", "tiny", "--place-seeds", "1"], 2, &["--workflow"]);
    fails(&["explore", "--config", "tiny", "--workflow", &name, "--place-seeds=-1"], 2, &["--place-seeds"]);
    fails(
        &["explore", "--config", "tiny", "--workflow", &name, "--data", "nowhere.csv"],
        6,
        &["cannot read nowhere.csv"],
    );
    assert!(!folder.exists(), "what is wrong is said before anything is written");
    let blocked = file(outside.path(), "file", "");
    fails(&["explore", "--config", "tiny", "--workflow", &blocked], 6, &["cannot write"]);
    let sweep = begun(&folder, &["--config", "tiny"]);
    let point = &sweep["points"][0];
    leave(&folder, point, "measure", &json!({ "machines": 3 }));
    fails(&["explore", "--collect", &name], 1, &["no result of a job"]);
    leave(&folder, point, "measure", &placed(3.0));
    assert_eq!(collected(&folder)["machines"][0]["refused"], "its result is that of another job");
    let damaged = |change: &dyn Fn(&mut Value)| {
        let mut points = sweep.clone();
        change(&mut points);
        fs::write(folder.join("points.json"), points.to_string()).unwrap();
    };
    damaged(&|points| points["points"][0]["name"] = json!("../elsewhere"));
    fails(&["explore", "--collect", &name], 1, &["`../elsewhere` is no name of a point"]);
    damaged(&|points| points["schema_version"] = json!(2));
    fails(&["explore", "--collect", &name], 1, &["version 2 of the points is not known"]);
    damaged(&|points| points["points"] = json!(7));
    fails(&["explore", "--collect", &name], 1, &["E-DATA", "no points of a workflow"]);
    // Snakemake is at work.
    fs::create_dir_all(folder.join(".snakemake/locks")).unwrap();
    file(&folder.join(".snakemake/locks"), "0.input.lock", "");
    fails(&["explore", "--config", "tiny", "--workflow", &name], 6, &["snakemake --unlock"]);
}

/// A small design by hand in the place of the grid: every seed has its own folder, and a clock that is missed is a result.
#[test]
fn a_netlist_is_placed_with_a_seed() {
    let folder = tempfile::tempdir().unwrap();
    let (out, fpga) = (folder.path().display().to_string(), folder.path().join("fpga"));
    fails(&["place", "--config", "zcu102", "--out", &out], 2, &["no open place and route"]);
    fails(&["place", "--config", "icebreaker", "--out", &out], 6, &["netlist.json", "tabla-gen synth"]);
    let verilog = fs::read_to_string("fpga/tests/flow/lights.v").unwrap();
    let lights = arch::rtl::Rtl { top: "board_top".to_owned(), verilog, ports: Vec::new() };
    fpga::yosys::synthesise(&lights, Family::named("ice40").unwrap(), &fpga, &Toolbox::default()).unwrap();
    file(&fpga, "bitstream.bin", "of yesterday");
    // The folder is one of ours.
    file(&fpga, "SHA256SUMS", "");
    file(
        &fpga,
        "pins.pcf",
        "set_io clock_pin 35\nset_io button 10\nset_io uart_rx 6\nset_io uart_tx 9\nset_io led[0] 11\nset_io led[1] 37\n",
    );
    let fast = fs::read_to_string("configs/icebreaker.toml").unwrap();
    let fast = fast.replace("../", &format!("{}/", env!("CARGO_MANIFEST_DIR")));
    let fast = file(folder.path(), "fast.toml", fast.replace("[board]", "[board]\nclock_mhz = 275.0"));
    for (config, seed, met) in [("icebreaker", "3", true), (fast.as_str(), "4", false)] {
        let ran = done(&["place", "--config", config, "--out", &out, "--place-seed", seed, "--format", "json"]).json();
        holds(&ran, "place");
        assert_eq!((&ran["in_time"], &ran["seed"]), (&json!(met), &json!(seed.parse::<u32>().unwrap())));
        let mut left: Vec<_> =
            fs::read_dir(fpga.join(format!("seed-{seed}"))).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["place.log", "report.json"]);
    }
    assert_eq!(fs::read_to_string(fpga.join("bitstream.bin")).unwrap(), "of yesterday", "what others made stays");
}

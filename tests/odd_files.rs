//! Files and programs that are odd or far too large, through the command line: read where that is possible, refused with the figure or the
//! place otherwise. `measure endless` measures how long they take.

mod tool;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use tool::{done, fails, file, finish, tool};

const LOGISTIC: &str = "programs/logistic.t";

#[test]
fn lines_end_with_returns_and_json_begins_with_a_mark() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "model_input x[3];\rmodel_output y;\r// a comment ends here\riterator i[0:3];\ry = sum[i](x[i] * x[i]);\r";
    let program = file(folder.path(), "returns.t", text);
    let inputs = file(folder.path(), "mark.json", "\u{feff}{\"x\": [1, 2, 3]}");
    let values = done(&["eval", &program, "--inputs", &inputs, "--format", "json"]).json();
    assert_eq!(values["values"]["y"], 14.0);
}

#[test]
fn clocks_that_no_board_has_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for clock in ["1e300", "nan", "inf", "-1", "0"] {
        let config = file(folder.path(), "c.toml", format!("[board]\nname = \"ulx3s\"\nclock_mhz = {clock}\n"));
        fails(&["check", LOGISTIC, "--config", &config], 1, &["E-CONFIG", "above 0 and at most 10000 MHz", ":3:"]);
    }
}

#[test]
fn powers_that_no_board_has_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for watts in ["1e300", "nan", "-1", "0"] {
        let config = file(folder.path(), "c.toml", format!("[board]\nname = \"ulx3s\"\nwatts = {watts}\n"));
        fails(&["check", LOGISTIC, "--config", &config], 1, &["E-CONFIG", "above 0 and at most 1000 W", ":3:"]);
    }
}

/// Names, cells and paths of 5,000 characters, in each kind of file.
#[test]
fn messages_do_not_repeat_what_is_long() {
    let folder = tempfile::tempdir().unwrap();
    let long = "q".repeat(5000);
    let place = |name: &str, text: String| file(folder.path(), name, text);
    let program = place("p.t", format!("model_input x; h = {long};"));
    let config = place("c.toml", format!("[machine]\n{long} = 1\n"));
    let data = place("d.csv", format!("a,b\n1,0\n{long},1\n"));
    let inputs = place("in.json", format!("{{\"{long}\": 1}}"));
    let short = place("short.t", "model_input x; h = x;".to_owned());
    for arguments in [
        &["check", &program][..],
        &["check", LOGISTIC, "--config", &config],
        &["train", LOGISTIC, "--data", &data],
        &["eval", &short, "--inputs", &inputs],
        &["weights", &inputs],
    ] {
        let output = tool(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && !said.is_empty(), "{arguments:?}");
        let longest = said.split(|c: char| c != 'q').map(str::len).max().unwrap();
        assert!(longest <= 200, "{arguments:?}: {longest} characters of the input");
    }
}

/// Each ends in E-LIMIT with the figure that is too large.
#[test]
fn what_is_far_too_large_is_refused_with_its_figure() {
    let folder = tempfile::tempdir().unwrap();
    let head = "mu = 0.01; m = 8; model_input x[m]; model_output y; model w[m]; gradient g[m] -> w; iterator i[0:m];\n";
    let chain = (0..400).fold(String::new(), |text, n| text + &format!("a{} = a{n} * y;\n", n + 1));
    let chain = format!("{head}a0 = sum[i](w[i] * x[i]);\n{chain}d = a400 - y; g[i] = d * x[i];\n");
    let chain = file(folder.path(), "chain.t", chain);
    file(folder.path(), "chain.toml", "[train]\nprediction = 'a400'\nloss = 'squared'\n");
    fails(
        &["explain", &chain, "--limit", "statements=256"],
        1,
        &["E-LIMIT", "404 statements, the limit is 256", "--limit statements=N"],
    );
    let product = format!("{head}h = sum[i](w[i] * x[i]){};\nd = h - y; g[i] = d * x[i];\n", " * y".repeat(400));
    let product = file(folder.path(), "product.t", product);
    file(folder.path(), "product.toml", "[train]\nprediction = 'h'\nloss = 'squared'\n");
    fails(&["explain", &product], 1, &["E-LIMIT", "801 operands and operations, the limit is 512"]);
    fails(&["explain", LOGISTIC, "--set", "m=1000000"], 1, &["E-LIMIT", "1000000 values", "at most 262144"]);
    fails(&["explain", LOGISTIC, "--set", "m=16777216"], 1, &["E-LIMIT", "16777216 values"]);
    fails(&["explain", LOGISTIC, "--set", "m=4294967296"], 1, &["E-LIMIT", "more than 16777216 elements"]);
    for shape in ["(1000000000000, 0)", "(0, 1000000000000)", "(4294967296, 4294967296)"] {
        let header = format!("{:117}\n", format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"));
        let bytes = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
        let data = file(folder.path(), "d.npy", bytes);
        fails(&["train", LOGISTIC, "--data", &data], 1, &["E-LIMIT", "at most 20000000 elements"]);
    }
    fails(&["check", "/dev/zero", "--lang", "t"], 1, &["E-LIMIT", "more than 16 MiB"]);
}

/// 1 MiB of memory is a file of 256 KiB and 19,531 cells; the way out that is offered is one.
#[test]
fn data_may_take_what_it_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |count: usize| (0..count).fold(String::new(), |text, n| text + &format!("{}.5,{}\n", n % 7, n % 2));
    let program = file(
        folder.path(),
        "one.t",
        "mu = 0.1; model_input x[2]; model_output y; model w[2]; gradient g[2] -> w; iterator i[0:2];\n\
         h = sum[i](w[i] * x[i]);\nh = sigmoid(h);\nd = h - y;\ng[i] = d * x[i];\n",
    );
    file(
        folder.path(),
        "one.toml",
        "[train]\nprediction = 'h'\nloss = 'logistic'\nlabels = { 0 = 0, 1 = 1 }\nbias = true\n",
    );
    let data = |count| file(folder.path(), "d.csv", format!("a,y\n{}", rows(count)));
    let train = |data: &str, mib: &str| {
        let limit = format!("data_mib={mib}");
        ["train", &program, "--data", data, "--engine", "golden", "--epochs", "1", "--limit", &limit].map(str::to_owned)
    };
    let help = "--limit data_mib=4096";
    let refused = |arguments: &[String; 10], what: &str| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        fails(&arguments, 1, &["E-LIMIT", what, help]);
    };
    refused(&train(&data(10_000), "1"), "9766 rows of 2 columns are more than the 19531 cells");
    refused(&train(&data(50_000), "1"), "more than 256 KiB");
    let arguments = train(&data(10_000), "2");
    done(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Without a home the cache is a folder of this user alone.
#[test]
fn without_a_home_the_cache_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let cache = || {
        let mut command = tool(&["cache"]);
        for name in ["HOME", "XDG_CACHE_HOME", "TABLA_GEN_TOOLS"] {
            command.env_remove(name);
        }
        command.env("TMPDIR", folder.path()).output().unwrap()
    };
    let output = cache();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let [made] = &fs::read_dir(folder.path()).unwrap().map(Result::unwrap).collect::<Vec<_>>()[..] else {
        panic!("one folder is made")
    };
    assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert!(String::from_utf8(output.stdout).unwrap().contains(made.path().to_str().unwrap()));
    // Others could exchange what is in it.
    fs::set_permissions(made.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let refused = cache();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && said.contains("others may write"), "{said}");
}

/// Documents of few bytes that become many values: read or refused, with 1.5 GB of addresses, of which some are never touched. Each is about as
/// long as is still read.
#[test]
fn values_of_a_document_fit_into_memory() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "p.t", "model_input x; y = x;");
    let names = (0..2_500_000).map(|n| format!("\"{n:x}\":0,")).collect::<Vec<String>>().concat();
    for (what, text, expected) in [
        ("lists", format!("[{}0]", "[0],".repeat(1_800_000)), "one record"),
        ("lists of nine", format!("[{}0]", "[0,0,0,0,0,0,0,0,0],".repeat(600_000)), "one record"),
        ("entries", format!("{{{names}\"x\":1}}"), "E-LIMIT"),
        ("entries twice", format!("{{{}\"x\":1}}", "\"a\":0,".repeat(1_500_000)), "the inputs give `a` twice"),
    ] {
        let inputs = file(folder.path(), "in.json", text);
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 1500000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_tabla-gen")]);
        command.args(["eval", &program, "--inputs", &inputs]);
        let ran = finish(command);
        let said = ran.stderr.get(..400).unwrap_or(&ran.stderr);
        assert!([1, 2].contains(&ran.code) && ran.stderr.contains(expected), "{what}: {}\n{said}", ran.code);
    }
}

//! Names that would do harm, had they a way in: whatever program, data and config are called and say, the Verilog, the Makefile, the Tcl
//! and the HTML are those of a harmless project. And nothing is written but what was asked for.

mod tool;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tool::tool;

/// Ends a string, a comment, a word, an element, a command, a rule, in any of the languages that are written.
const HOSTILE: &str =
    "a\"'$(touch owned) `touch owned`;[exec touch owned]{$owned}\\ */ </td><script>alert(owned)</script>&\tendmodule";

/// The logistic regression on four samples, for a board of the user's. What is free text or a name of a file is `name`.
struct Project {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Project {
    fn new(name: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        // A slash is no part of a name.
        let file = name.replace('/', "");
        let program = folder.path().join(format!("{file}.t"));
        fs::write(&program, read("programs/logistic.t").replace("m = 31; ", &format!("m = 3; // {name} "))).unwrap();
        fs::write(program.with_extension("toml"), format!("# {name}\n{}", read("programs/logistic.toml"))).unwrap();
        let quoted = name.replace('"', "\"\"");
        let rows = "1,0.5,0\n-1,0.25,1\n0.5,0.75,0\n-0.75,-1,1\n".repeat(8);
        fs::write(folder.path().join(format!("{file}.csv")), format!("\"{quoted}\",b,target\n{rows}")).unwrap();
        let boards = folder.path().join("boards");
        fs::create_dir(&boards).unwrap();
        let title = format!("title = {}", toml::Value::from(name));
        let board = read("fpga/boards/zcu102.toml");
        let old = board.lines().find(|line| line.starts_with("title")).unwrap();
        fs::write(boards.join("mine.toml"), board.replace(old, &title)).unwrap();
        let config = format!(
            "# {name}\n[machine]\npus = 2\npes_per_pu = 2\nstream_words = 2\n\n[board]\nname = \"mine\"\nclock_mhz = 100.0\n"
        );
        fs::write(folder.path().join(format!("{file}.toml.config")), config).unwrap();
        Project { folder, program }
    }

    fn path(&self, extension: &str) -> String {
        self.program.with_extension(extension).file_name().unwrap().to_str().unwrap().to_owned()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let (program, config) = (self.path("t"), self.path("toml.config"));
        let mut command = tool(arguments);
        command.args([&program, "--config", &config, "--quiet"]).current_dir(self.folder.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    /// Everything below the folder.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let content = fs::read(&path).unwrap();
                    files.insert(path.strip_prefix(self.folder.path()).unwrap().to_owned(), content);
                }
            }
        }
        files
    }
}

/// The tags of a page, without what the user may say inside them: names and keys of attributes.
fn tags(html: &str) -> Vec<String> {
    let mut tags = Vec::new();
    for piece in html.split('<').skip(1) {
        let tag = piece.split('>').next().unwrap_or_default();
        // What stands in quotes is not a structure.
        tags.push(tag.split('"').step_by(2).collect());
    }
    tags
}

#[test]
fn texts_are_those_of_a_harmless_project() {
    let (good, evil) = (Project::new("good"), Project::new(HOSTILE));
    let mut pages = Vec::new();
    for project in [&good, &evil] {
        let data = project.path("csv");
        project.run(&["build", "--data", &data, "--out", "out"]);
        project.run(&["report", "--data", &data, "--out", "page", "--epochs", "2"]);
        pages.push(fs::read_to_string(project.folder.path().join("page/report.html")).unwrap());
    }
    // Beside the core's name nothing of a name is left.
    let (mut good_files, evil_files) = (good.files(), evil.files());
    let core = evil_files.keys().find(|path| path.to_string_lossy().ends_with("_axi.core")).unwrap();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let stem = core.file_stem().unwrap().to_str().unwrap();
    assert!(stem.chars().all(plain), "{}", core.display());
    let stem = stem.strip_suffix("_axi").unwrap();
    for (evil, good) in [("_axi.core", "good_axi.core"), (".core", "good.core")] {
        let text =
            String::from_utf8_lossy(&evil_files[&core.with_file_name(format!("{stem}{evil}"))]).replace(stem, "good");
        assert_eq!(text, String::from_utf8_lossy(&good_files[&Path::new("out").join(good)]));
    }
    let upper = stem.to_uppercase();
    let component = String::from_utf8_lossy(&evil_files[Path::new("out/component.xml")]).replace(stem, "good");
    assert_eq!(component, String::from_utf8_lossy(&good_files[Path::new("out/component.xml")]));
    for name in [
        "out/rtl/good.v",
        "out/rtl/good_axi.v",
        "out/vivado.tcl",
        "out/driver/tabla.py",
        "out/driver/good.h",
        "out/driver/good_train.c",
        "out/driver/good_predict.h",
        "out/litex/good_litex.py",
        "out/testbench/Makefile",
        "out/testbench/main.cpp",
        "out/testbench/grid.h",
        "out/testbench/control.hex",
        "out/testbench/input.hex",
        "out/testbench/expected.hex",
    ] {
        let own = name.replace("good", stem);
        let own = String::from_utf8_lossy(&evil_files[Path::new(&own)]).replace(stem, "good").replace(&upper, "GOOD");
        let own = own.replace(&(stem[..1].to_uppercase() + &stem[1..]), "Good");
        let good = good_files.remove(Path::new(name)).unwrap();
        assert_eq!(String::from_utf8_lossy(&good), own, "{name} depends on what the user's files are called");
    }
    // The page tells the names, as text.
    assert_eq!(tags(&pages[0]), tags(&pages[1]));
    assert!(pages[1].contains("&lt;script&gt;alert(owned)") && !pages[0].contains("owned"));
    assert!(!tags("<p>a<b></p>").iter().eq(&tags("<p>a&lt;b></p>")), "an element more would be seen");
}

/// What runs what was written is not led astray either.
#[test]
fn tools_take_a_hostile_project() {
    let project = Project::new(HOSTILE);
    let data = project.path("csv");
    // A folder's name, too.
    let out = format!("out {}", HOSTILE.replace('/', ""));
    project.run(&["build", "--data", &data, "--out", &out]);
    let out = project.folder.path().join(&out);
    let make = Command::new("make")
        .args(["-n", "run", "VERILATOR=false"])
        .current_dir(out.join("testbench"))
        .output()
        .unwrap();
    assert!(make.status.success(), "{}", String::from_utf8_lossy(&make.stderr));
    // Every command of the script is a word of its own, up to the first one that only Vivado knows.
    let tcl = Command::new("tclsh").arg(out.join("vivado.tcl")).current_dir(&out).output().unwrap();
    let said = String::from_utf8_lossy(&tcl.stderr).into_owned();
    assert!(said.contains("invalid command name"), "{said}");
    let verilog =
        fs::read_dir(out.join("rtl")).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap_or_default());
    // Nothing but the name of the core, which is one word.
    for text in verilog {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        assert!(words.filter(|word| word.contains("owned")).all(|word| word.len() > 30), "{text}");
    }
    assert!(project.files().keys().all(|path| !path.ends_with("owned")), "{:?}", project.files().keys());
}

/// A board file of the user's is data, but its words become arguments of tools: what is no plain word is refused.
#[test]
fn words_of_a_board_are_plain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let facts = fs::read_to_string(root.join("fpga/boards/ulx3s-25f.toml")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("boards")).unwrap();
    fs::copy(root.join("fpga/boards/ulx3s.lpf"), folder.path().join("boards/ulx3s.lpf")).unwrap();
    fs::write(folder.path().join("c.toml"), "[board]\nname = \"mine\"\n").unwrap();
    let checked = |text: &str| {
        fs::write(folder.path().join("boards/mine.toml"), text).unwrap();
        let program = root.join("programs/logistic.t").display().to_string();
        tool(&["check", &program, "--config", "c.toml"]).current_dir(folder.path()).output().unwrap()
    };
    assert!(checked(&facts).status.success(), "the board as it is");
    for key in ["part", "programmer", "size", "package", "constraints"] {
        let line =
            facts.lines().find(|line| line.starts_with(&format!("{key} ="))).unwrap_or_else(|| panic!("no {key}"));
        for word in
            ["x; touch owned", "x\ntouch owned", "$(touch owned)", "`touch owned`", "-x", "", "a|b", "a>b", "a&b"]
        {
            let output = checked(&facts.replace(line, &format!("{key} = {}", toml::Value::from(word))));
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(1) && said.contains("E-CONFIG"), "{key} = {word:?}: {said}");
        }
    }
    for sites in ["multiplier_rows = [10, 10]", "multiplier_columns = [13, 4]"] {
        let output = checked(&facts.replace("speed = 6", &format!("speed = 6\n{sites}")));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(1) && said.contains("E-CONFIG") && said.contains("multiplier"),
            "{sites}: {said}"
        );
    }
}

/// Commands that write a folder write it alone; the others write nothing that was not named.
#[test]
fn nothing_else_is_written() {
    let project = Project::new("p");
    let data = project.path("csv");
    let before: Vec<PathBuf> = project.files().into_keys().collect();
    let written = |known: &[PathBuf]| -> Vec<PathBuf> {
        project.files().into_keys().filter(|path| !known.contains(path)).collect()
    };
    for arguments in [
        &["check"][..],
        &["train", "--data", &data, "--epochs", "1"],
        &["accuracy", "--data", &data, "--epochs", "1", "--words", "12"],
        &["sim", "--data", &data, "--engine", "array", "--steps", "2"],
        &["explain", "--data", &data],
        &["explore", "--data", &data, "--pus", "1,2"],
        &["graph"],
    ] {
        project.run(arguments);
        assert_eq!(written(&before), Vec::<PathBuf>::new(), "{arguments:?}");
    }
    for arguments in [
        &["build", "--data", &data, "--out", "one/out"][..],
        &["report", "--data", &data, "--epochs", "1", "--out", "one/out"],
    ] {
        project.run(arguments);
        let written = written(&before);
        assert!(
            !written.is_empty() && written.iter().all(|path| path.starts_with("one/out")),
            "{arguments:?}: {written:?}"
        );
    }
    project.run(&["train", "--data", &data, "--epochs", "1", "--save", "m.json", "--checkpoint", "c.json"]);
    let mut left = written(&before);
    left.retain(|path| !path.starts_with("one/out"));
    assert_eq!(left, ["c.json", "m.json"].map(PathBuf::from));
}

/// Run as [`Project::run`] with any outcome: exit code and what was said; and nothing has changed.
fn refused(project: &Project, arguments: &[&str]) -> (i32, String) {
    let before = project.files();
    let (program, config) = (project.path("t"), project.path("toml.config"));
    let mut command = tool(arguments);
    command.args([&program, "--config", &config, "--quiet"]).current_dir(project.folder.path());
    let output = command.output().unwrap();
    assert!(project.files() == before, "{arguments:?} has changed a file");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// No file of the user's is replaced: neither an input nor what lies in the output folder.
#[test]
fn nothing_of_the_users_is_replaced() {
    let project = Project::new("p");
    let data = project.path("csv");
    let train = ["train", "--data", &data, "--epochs", "1", "--engine", "fixed"];
    // Also what is not typed: the settings beside the program, the file of the board.
    for input in ["p.csv", "p.t", "p.toml", "p.toml.config", "boards/mine.toml", "boards/../p.csv"] {
        for option in ["--save", "--checkpoint"] {
            let (code, said) = refused(&project, &[&train[..], &[option, input]].concat());
            assert!(code == 2 && said.contains("would replace an input"), "{option} {input}: {said}");
        }
        let (code, said) = refused(&project, &["explain", "--data", &data, "--svg", input]);
        assert!(code == 2 && said.contains("would replace an input"), "--svg {input}: {said}");
    }
    let (code, said) = refused(&project, &[&train[..], &["--save", "z", "--checkpoint", "./z"]].concat());
    assert!(code == 2 && said.contains("are the same file"), "{said}");
    let own = project.folder.path().join("rtl/core.v");
    fs::create_dir(own.parent().unwrap()).unwrap();
    fs::write(&own, "mine").unwrap();
    fs::write(project.folder.path().join("report.json"), "mine").unwrap();
    for arguments in [
        &["build", "--module", "core", "--data", &data, "--out", "."][..],
        &["report", "--data", &data, "--epochs", "1", "--out", "."],
        &["explore", "--data", &data, "--pus", "1", "--workflow", "boards/../rtl/.."],
    ] {
        fs::write(project.folder.path().join("Snakefile"), "mine").unwrap();
        let (code, said) = refused(&project, arguments);
        assert!(code == 6 && said.contains("--force"), "{arguments:?}: {said}");
    }
    project.run(&["build", "--module", "core", "--data", &data, "--out", ".", "--force"]);
    assert_ne!(fs::read_to_string(&own).unwrap(), "mine");
    // Its own folder it replaces, unless somebody has changed it.
    project.run(&["build", "--module", "core", "--data", &data, "--out", "."]);
    fs::write(&own, "changed").unwrap();
    let (code, said) = refused(&project, &["build", "--module", "core", "--data", &data, "--out", "."]);
    assert!(code == 6 && said.contains("rtl/core.v"), "{said}");
}

/// A folder `fpga` of somebody else's is no place for tools.
#[test]
fn tools_do_not_work_in_a_folder_of_others() {
    let project = Project::new("p");
    let folder = project.folder.path();
    let config = fs::read_to_string(folder.join("p.toml.config")).unwrap();
    fs::write(folder.join("p.toml.config"), config.replace("\"mine\"\nclock_mhz = 100.0", "\"ulx3s-25f\"")).unwrap();
    fs::create_dir_all(folder.join("out/fpga/seed-1")).unwrap();
    fs::write(folder.join("out/fpga/seed-1/notes"), "mine").unwrap();
    fs::write(folder.join("out/fpga/netlist.json"), "{}").unwrap();
    let data = project.path("csv");
    for arguments in [&["synth", "--data", &data, "--out", "out"][..], &["place", "--out", "out"]] {
        let (code, said) = refused(&project, arguments);
        assert!(code == 6 && said.contains("--force") && said.contains("seed-1"), "{arguments:?}: {said}");
    }
}

//! The project as measurements see it: its folder, the program, tools that `scripts/setup` has installed, and pages.

use crate::{Outcome, page};
use serde_json::Value;
use std::error::Error;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

/// The project, whose folder is the shell's.
pub(crate) struct Project {
    pub(crate) shell: Shell,
}

impl Project {
    /// Where this crate was built.
    pub(crate) fn new() -> Result<Project, Box<dyn Error>> {
        let shell = Shell::new()?;
        shell.change_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        Ok(Project { shell })
    }

    /// `tabla-gen`: `TABLA_GEN` if that is set, else as it is built now.
    pub(crate) fn tool(&self, release: bool) -> Result<PathBuf, Box<dyn Error>> {
        if let Some(tool) = std::env::var_os("TABLA_GEN") {
            return Ok(std::path::absolute(tool)?);
        }
        let (folder, profile) = if release { ("release", "release") } else { ("debug", "test") };
        let both = ["--package", "tabla-gen", "--package", "measure"];
        cmd!(self.shell, "cargo build --quiet --locked --profile {profile} {both...}").quiet().run()?;
        Ok(self.shell.current_dir().join("target").join(folder).join("tabla-gen"))
    }

    /// The JSON document that a command of `tabla-gen` prints.
    pub(crate) fn document(&self, tool: &Path, arguments: &[&str]) -> Result<Value, Box<dyn Error>> {
        let text = cmd!(self.shell, "{tool} {arguments...} --format json --quiet").quiet().read()?;
        Ok(serde_json::from_str(&text)?)
    }

    /// The folder of a group of packages.
    ///
    /// # Errors
    /// It is not installed.
    pub(crate) fn group(&self, name: &str) -> Result<PathBuf, Box<dyn Error>> {
        let option = (name != "tools").then(|| format!("--{name}"));
        let option = option.as_slice();
        let folder = PathBuf::from(cmd!(self.shell, "scripts/setup --print {option...}").quiet().read()?);
        if folder.join("bin/python3").exists() {
            return Ok(folder);
        }
        Err(format!("run scripts/setup {}", option.join(" ")).into())
    }

    /// A Python with the packages of a group: `PYTHON` if that is set.
    pub(crate) fn interpreter(&self, group: Option<&str>) -> Result<PathBuf, Box<dyn Error>> {
        match (std::env::var_os("PYTHON"), group) {
            (Some(python), _) => Ok(python.into()),
            (None, Some(group)) => Ok(self.group(group)?.join("bin/python3")),
            (None, None) => Ok("python3".into()),
        }
    }

    /// Run a file of `measure/python`.
    pub(crate) fn python(&self, group: Option<&str>, file: &str, arguments: &[String]) -> Outcome {
        let python = self.interpreter(group)?;
        let file = self.shell.current_dir().join("measure/python").join(file);
        Ok(cmd!(self.shell, "{python} {file} {arguments...}").quiet().run()?)
    }

    /// Put a table between the two marks of a page.
    #[allow(clippy::print_stdout, reason = "says what was written")]
    pub(crate) fn put(&self, page: &str, mark: &str, table: &str) -> Outcome {
        let text = self.shell.read_file(page)?;
        self.shell
            .write_file(page, page::with_table(&text, mark, table).ok_or_else(|| format!("{page} lacks {mark}"))?)?;
        println!("wrote {page}");
        Ok(())
    }
}

/// No argument is known here.
pub(crate) fn none(arguments: &[String]) -> Outcome {
    arguments.first().map_or(Ok(()), |argument| Err(format!("unknown argument `{argument}`").into()))
}

/// `python`: the tables of docs/python.md, with the wheel that `scripts/python` builds.
pub(crate) fn python(project: &Project, arguments: &[String]) -> Outcome {
    Ok(cmd!(project.shell, "scripts/python --table {arguments...}").quiet().run()?)
}

/// `tflite`: the cases of the crate `tflite`, as `LiteRT` computes them, and the model of integers that is scored.
pub(crate) fn tflite(project: &Project, arguments: &[String]) -> Outcome {
    none(arguments)?;
    project.python(Some("tflite"), "../../tests/score/int8.py", &[])?;
    for kind in ["cases", "refused"] {
        let file = format!("compiler/tflite/tests/{kind}.bin");
        project.python(Some("tflite"), "tflite_cases.py", &[kind.to_owned(), file])?;
    }
    Ok(())
}

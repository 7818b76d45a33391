//! Finds Verilator and the C++ compiler.

use super::VerilatorError;
use arch::tools::{MissingTools, Toolbox};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest version that this flow was tried with.
const OLDEST: (u32, u32) = (5, 6);

/// A Verilator and a C++ compiler that work together.
#[derive(Debug, Clone)]
pub(super) struct Installation {
    /// The program `verilator_bin`.
    pub(super) verilator: PathBuf,
    /// `VERILATOR_ROOT`: the folder above `include`.
    pub(super) root: PathBuf,
    /// The C++ compiler.
    pub(super) compiler: PathBuf,
    /// Versions of both, as they print them.
    pub(super) versions: String,
}

impl Installation {
    /// The pinned Verilator, else the one of the system; the compiler of the system.
    pub(super) fn find(toolbox: &Toolbox) -> Result<Installation, VerilatorError> {
        let verilator = pinned(toolbox).or_else(|| system(toolbox));
        let compiler = toolbox.program("g++");
        let (Some((verilator, root)), Ok(compiler)) = (&verilator, &compiler) else {
            let verilator = verilator.is_none().then_some("verilator");
            let compiler = compiler.is_err().then_some("g++");
            let names = verilator.into_iter().chain(compiler).map(str::to_owned).collect();
            return Err(VerilatorError::Missing(MissingTools { names }));
        };
        let header = root.join("include/verilated_config.h");
        let text = std::fs::read_to_string(&header).map_err(|source| VerilatorError::File {
            action: "read",
            path: header,
            source,
        })?;
        match version(&text) {
            Some(found) if found < OLDEST => {
                Err(VerilatorError::Version { found: format!("{}.{:03}", found.0, found.1) })
            }
            // A version that we cannot read is probably new.
            _ => Ok(Installation {
                versions: first_line(verilator)? + "\n" + &first_line(compiler)?,
                verilator: verilator.clone(),
                root: root.clone(),
                compiler: compiler.clone(),
            }),
        }
    }

    /// The folder of Verilator's runtime sources.
    pub(super) fn include(&self) -> PathBuf {
        self.root.join("include")
    }
}

/// The Python package brings the program and its root in one folder. (Its console script would start any other Verilator on
/// `PATH` first, so it is not used.)
fn pinned(toolbox: &Toolbox) -> Option<(PathBuf, PathBuf)> {
    let root = toolbox.package("verilator").ok()?;
    let program = root.join("bin/verilator_bin");
    program.is_file().then_some((program, root))
}

fn system(toolbox: &Toolbox) -> Option<(PathBuf, PathBuf)> {
    if !toolbox.searches_system() {
        return None;
    }
    let root = verilator::find_verilator_root()?;
    let beside = root.join("bin/verilator_bin");
    let program = toolbox.program("verilator_bin").ok().or_else(|| beside.is_file().then_some(beside))?;
    Some((program, root))
}

/// The version in the text of `verilated_config.h`: the programs of some packages do not print theirs.
fn version(config: &str) -> Option<(u32, u32)> {
    let line = config.lines().find(|line| line.starts_with("#define VERILATOR_VERSION "))?;
    let (major, rest) = line.split('"').nth(1)?.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn first_line(program: &Path) -> Result<String, VerilatorError> {
    let output = Command::new(program).arg("--version").output().map_err(|source| VerilatorError::File {
        action: "run",
        path: program.to_owned(),
        source,
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_of_packages_are_understood() {
        assert_eq!(version("#define VERILATOR_VERSION \"5.006 2023-01-22\"\n"), Some((5, 6)));
        assert_eq!(version("// x\n#define VERILATOR_VERSION \"5.49\"\n"), Some((5, 49)));
        assert_eq!(version("#define VERILATOR_VERSION_INTEGER 5006000\n"), None);
        assert_eq!(version("#define VERILATOR_VERSION \"@devel@\"\n"), None);
    }
}

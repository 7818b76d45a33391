//! The files that a project is made of, which no command may replace.

use super::Project;
use crate::imported::Imported;
use std::path::PathBuf;

impl Project {
    /// The files it was read from, and the data that its configuration names.
    pub fn files(&self) -> Vec<PathBuf> {
        let known = self.board.known.as_ref();
        let constraints = known.into_iter().flat_map(|known| [&known.constraints, &known.sdram_constraints]);
        let texts = constraints.flatten().chain(&self.settings).map(|source| PathBuf::from(&source.name));
        let config = self.config_source.as_ref().map(|(path, _)| path.clone());
        let data = self.beside_config(self.config.build.data.as_ref());
        let others = self.imported.as_ref().map(Imported::others).unwrap_or_default();
        let board = known.map(|known| known.path.clone());
        let all = [config, data, board, Some(self.path.clone())].into_iter().flatten();
        all.chain(texts).chain(others).filter(|path| path.is_file()).collect()
    }
}

//! Configurations that were measured with another program.
//!
//! ```text
//! configs/ulx3s-25f.toml: program, clock, depths, grid ──▶ no program, four fifths of the clock, depths that fit, a grid that can be routed
//! ```

use super::Project;
use crate::config::Config;
use arch::Machine;
use arch::machine::MachineSpec;

/// Keys that a configuration has for its own program.
const OWN: [&str; 7] =
    ["program", "data", "model_depth", "data_depth", "temporary_depth", "gradient_depth", "program_depth"];

impl Project {
    /// The same for its own program, if the configuration belongs to another one and has a board with pins. `smaller` finds a grid that can be routed,
    /// where that of the configuration cannot.
    pub(crate) fn adapted<E>(
        &self,
        smaller: impl FnOnce(&Project) -> Result<Option<Machine>, E>,
    ) -> Result<Option<Project>, E> {
        let has_pins = self.board.facts().is_some_and(|facts| facts.io.is_some());
        if !has_pins || self.configured || self.config.program.is_none() {
            return Ok(None);
        }
        let mut project = self.clone();
        project.board.clock_mhz = slower(self.board.clock_mhz);
        project.fit_memories();
        let machine = smaller(&project)?;
        if let Some((_, source)) = &mut project.config_source {
            source.text = text(&source.text, project.board.clock_mhz, machine.as_ref(), &OWN);
        }
        if let Some(machine) = machine {
            let (pus, pes_per_pu) = (Some(machine.pus()), Some(machine.pes_per_pu()));
            let spec =
                MachineSpec { pus, pes_per_pu, stream_words: Some(machine.stream_words()), ..project.config.spec };
            project.config = Config { spec, machine, ..project.config };
        }
        Ok(Some(project))
    }
}

/// Four fifths of a clock, in whole steps of 5 MHz; a slow one stays.
pub fn slower(clock_mhz: f64) -> f64 {
    if clock_mhz < 50.0 { clock_mhz } else { (clock_mhz * 0.8 / 5.0).floor() * 5.0 }
}

/// The text of a configuration with another clock, another grid, and without some keys.
pub fn text(config: &str, clock_mhz: f64, machine: Option<&Machine>, without: &[&str]) -> String {
    let grid = machine.map(|machine| {
        [("pus", machine.pus()), ("pes_per_pu", machine.pes_per_pu()), ("stream_words", machine.stream_words())]
    });
    let less = if machine.is_some() { "Fewer PEs and a slower clock" } else { "A slower clock" };
    let mut text = format!("# {less} than in the board's configuration, which was measured with another program.\n");
    for line in config.lines() {
        let key = line.split_once('=').map_or("", |(key, _)| key.trim());
        match grid.iter().flatten().find(|(name, _)| key == *name) {
            Some((name, value)) => text.push_str(&format!("{name} = {value}\n")),
            None if key == "clock_mhz" || without.contains(&key) => {}
            None => text.push_str(&format!("{line}\n")),
        }
        if line.trim() == "[board]" {
            text.push_str(&format!("clock_mhz = {clock_mhz:?}\n"));
        }
    }
    text
}

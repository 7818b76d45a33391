//! The array's work in some steps, as a file for a wave viewer.
//!
//! | file | holds |
//! |---|---|
//! | `NAME.vcd` or `NAME.fst` | the waves |
//! | `NAME.gtkw`, `NAME.sucl` | which signals GTKWave and Surfer show at first |

use crate::arguments::Sim;
use crate::output::Talk;
use arch::{Image, Machine};
use sim::array::Array;
use sim::waves::signals;
use sim::waves::writer::WriteWaves;
use sim::waves::{Waved, Window, view};
use std::path::Path;
use workbench::Failure;
use workbench::writing::{self, Pending};

/// What a wave file's name asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaveFormat {
    /// Text.
    Vcd,
    /// Compressed.
    Fst,
}

/// The format that a name asks for.
///
/// # Errors
/// It is none of ours.
pub fn format(path: &Path) -> Result<WaveFormat, Failure> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("vcd") => Ok(WaveFormat::Vcd),
        Some("fst") => Ok(WaveFormat::Fst),
        _ => Err(Failure::Usage(format!("`{}` is not a wave file: its name must end in .vcd or .fst", path.display()))),
    }
}

/// Refuse waves of a PU that the grid does not have, or of samples that are not simulated. A step takes `batch` samples.
///
/// # Errors
/// It does not.
pub fn check(machine: &Machine, batch: usize, options: &Sim) -> Result<(), Failure> {
    let pus = machine.pus();
    if options.wave_pu >= pus {
        return Err(Failure::Usage(format!("--wave-pu {}: the grid has PUs 0 to {}", options.wave_pu, pus - 1)));
    }
    let samples = u64::from(options.steps) * batch as u64;
    match &options.wave_samples {
        Some(range) if range.start >= samples => Err(Failure::Usage(format!(
            "--wave-samples {}..{}: only {samples} samples are simulated; --steps has more",
            range.start, range.end
        ))),
        _ => Ok(()),
    }
}

/// What is recorded.
pub struct Recording<'a> {
    /// What runs.
    pub image: &'a Image,
    /// The program's text.
    pub source: &'a str,
    /// Samples per step.
    pub batch: usize,
}

/// Let `run` use an array that is recorded, and write the files.
///
/// # Errors
/// A file cannot be written, or the window shows nothing.
pub fn record(
    recording: &Recording<'_>,
    options: &Sim,
    (path, format): (&Path, WaveFormat),
    talk: &Talk,
    run: impl FnOnce(&mut Waved) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::file("write", path, &error);
    let Recording { image, source, batch } = recording;
    let batch = *batch as u64;
    let window = match (&options.wave_cycles, &options.wave_samples) {
        (Some(cycles), _) => Window::Cycles(cycles.clone()),
        (None, Some(samples)) => {
            let step = |sample: u64| u32::try_from(sample).unwrap_or(u32::MAX);
            Window::Steps(step(samples.start / batch)..step(samples.end.div_ceil(batch)))
        }
        (None, None) => Window::All,
    };
    let all = || signals::all(image, source, options.wave_pu);
    let mut pending = Pending::new(path)?;
    let file = Box::new(pending.file().try_clone().map_err(cannot)?);
    let to = match format {
        WaveFormat::Vcd => WriteWaves::Vcd(file),
        WaveFormat::Fst => WriteWaves::Fst(file),
    };
    let array = Array::new(&image.machine);
    let mut waved = Waved::new(array, options.wave_pu, all(), window, to).map_err(cannot)?;
    run(&mut waved)?;
    let cycles = waved.finish().map_err(cannot)?;
    if cycles == 0 {
        return Err(Failure::Usage("the run is shorter than the first cycle of --wave-cycles".to_owned()));
    }
    let signals = all();
    let gtkwave = view::gtkwave(&signals, format == WaveFormat::Fst);
    writing::write_file(&path.with_extension("gtkw"), gtkwave.as_bytes())?;
    writing::write_file(&path.with_extension("sucl"), view::surfer(&signals).as_bytes())?;
    pending.publish()?;
    let view = path.with_extension("gtkw");
    talk.say(format!("wrote {cycles} cycles to {}; gtkwave {} {}", path.display(), path.display(), view.display()));
    Ok(())
}

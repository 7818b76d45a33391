//! The hardware of a project on its board: synthesised, placed, routed and packed.
//!
//! ```text
//! project, design ──▶ grid and shell ──yosys──▶ netlist, its size against the part ──nextpnr──▶ bitstream
//! ```

use crate::build::Built;
use crate::failure::{Failure, Source};
use crate::progress::{Note, Progress};
use crate::project::Project;
use crate::project::store::{Store, StoreNeeds};
use crate::report::page::{charts, die};
use crate::resources::{self, Estimate};
use crate::sdram::{self, Place};
use crate::writing::folder::Earlier;
use crate::writing::guard::Guard;
use crate::writing::{self, Files};
use arch::machine::MachineSpec;
use arch::rtl::Rtl;
use arch::tools::Toolbox;
use arch::{Code, Diagnostic, Machine};
use fpga::board::Board as Facts;
use fpga::floorplan;
use fpga::flow::{BitstreamSummary, DIE, FlowError, OpenFlow, SEEDS};
use fpga::vivado::{BITSTREAM, HANDOFF, VivadoError};
use fpga::yosys::{self, Netlist, YosysError};
use hdl::shell;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a netlist takes of its device.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Synthesis {
    /// The board.
    board: String,
    /// Ordering code of the device.
    part: String,
    /// The grid.
    #[schemars(schema_with = "machine")]
    machine: MachineSpec,
    /// Cells by kind.
    cells: Vec<Cells>,
    /// Cells by type, as the family calls them.
    types: BTreeMap<String, u64>,
}

/// As the schema of configurations has it.
fn machine(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "$ref": "config.json#/properties/machine" })
}

/// Cells of one kind.
#[derive(Debug, Serialize, JsonSchema)]
struct Cells {
    /// LUT, FF, DSP, BRAM or SPRAM.
    name: &'static str,
    /// What the netlist has.
    used: u64,
    /// What the device has.
    available: u64,
    /// What was estimated.
    estimated: u64,
}

/// A project with a board.
pub struct Hardware<'a> {
    /// The project.
    pub project: &'a Project,
    /// Its board.
    pub facts: &'a Facts,
    /// The way to a bitstream, if there is an open one.
    pub flow: Option<OpenFlow>,
    /// Where everything is made.
    pub folder: PathBuf,
    /// What the training asks of a sample store.
    pub needs: StoreNeeds,
}

impl<'a> Hardware<'a> {
    /// The board of `project`, with work in the folder `fpga` of `out`. A bitstream that is there is removed: whatever
    /// happens next, it is not of this project.
    ///
    /// # Errors
    /// The configuration names no board; the folder is somebody else's; a stale file cannot be removed.
    pub fn new(project: &'a Project, out: &Path, guard: &Guard) -> Result<Hardware<'a>, Failure> {
        let hardware = Hardware::existing(project, out)?;
        guard.check_work(&hardware.folder, |_| true)?;
        // Its list of hashes makes the folder ours, whatever fails.
        Files::new().publish(&hardware.folder, Earlier::Kept, guard)?;
        if let Some(flow) = &hardware.flow {
            flow.clear(&hardware.folder).map_err(flow_failure)?;
        }
        Ok(hardware)
    }

    /// The same with what is there.
    ///
    /// # Errors
    /// The configuration names no board.
    pub fn existing(project: &'a Project, out: &Path) -> Result<Hardware<'a>, Failure> {
        let Some(facts) = project.board.facts() else {
            let hint = "this needs a board: name one in the configuration, `[board] name = \"ulx3s-85f\"`";
            return Err(Failure::Usage(hint.to_owned()));
        };
        let folder = out.join("fpga");
        let flow = OpenFlow::of(facts, project.board.clock_mhz);
        Ok(Hardware { project, facts, flow, folder, needs: StoreNeeds::default() })
    }

    /// The design: the grid in the shell of its board; the grid alone where the shell is the vendor tool's business.
    ///
    /// # Errors
    /// The board's clocks are impossible.
    pub fn design(&self, design: hdl::Design<'_>) -> Result<Rtl, Failure> {
        let leaves = resources::leaves(design.machine(), self.facts.device.family(), &self.facts.resources);
        let Some(io) = &self.facts.io else {
            return Ok(hdl::elaborate_with(design, leaves));
        };
        let hertz = |mhz: f64| (mhz * 1e6).round() as u64;
        let store = self.store(design.machine())?;
        let grid_hz = hertz(self.project.board.clock_mhz);
        let made = |facts| sdram::controller(facts, grid_hz, Place::Board, &Toolbox::default());
        let sdram = store.in_sdram.then_some(self.facts).map(made).transpose()?;
        let held: Vec<(String, bool)> = io.held.iter().map(|(name, &level)| (name.clone(), level == 1)).collect();
        let board = shell::Board {
            pll: self.facts.device.family().pll(),
            pin_hz: hertz(self.facts.clock.pin_mhz),
            grid_hz,
            baud: io.baud,
            link_size: self.facts.device.family().link_size(),
            leds: io.leds,
            lit_by_one: io.leds_lit == 1,
            pressed_is_one: io.button_pressed == 1,
            held: &held,
            store: store.hardware(sdram.as_ref()),
        };
        shell::board_with(design, &board, leaves).map_err(|error| self.about_the_board(error.to_string()))
    }

    /// The sample store beside a grid.
    ///
    /// # Errors
    /// As [`Project::store`].
    pub fn store(&self, machine: &Machine) -> Result<Store, Failure> {
        self.project.store(machine, self.needs)
    }

    /// The places of all pins.
    ///
    /// # Errors
    /// As [`Project::store`].
    pub fn constraints(&self, machine: &Machine) -> Result<Option<Source>, Failure> {
        let Some(known) = &self.project.board.known else { return Ok(None) };
        let more = known.sdram_constraints.as_ref().filter(|_| known.facts.sdram.is_some());
        let more = if self.store(machine)?.in_sdram { more } else { None };
        let whole = |source: &Source| match more {
            Some(more) => Source { name: source.name.clone(), text: format!("{}{}", source.text, more.text) },
            None => source.clone(),
        };
        Ok(known.constraints.as_ref().map(whole))
    }

    /// A mistake in what the configuration says of the board.
    fn about_the_board(&self, message: String) -> Failure {
        let (_, source) = self.config();
        Failure::about(&source, vec![Diagnostic::global(Code::Config, message)])
    }

    fn config(&self) -> (PathBuf, Source) {
        self.project.config_source.clone().expect("a board stands in a configuration")
    }

    /// Synthesise.
    ///
    /// # Errors
    /// Yosys is missing or fails.
    fn synthesise(&self, design: hdl::Design<'_>, progress: &dyn Progress) -> Result<Netlist, Failure> {
        let machine = design.machine();
        let rtl = self.design(design)?;
        let say = |text: String| progress.note(&Note::Makes { text, detail: false });
        say(format!("synthesis of {machine} for {}", self.facts.title));
        let store = self.store(machine)?;
        if store.rows > 0 {
            let place = if store.in_sdram { " in the SDRAM" } else { "" };
            say(format!("sample store: {} rows of {} words{place}", store.rows, machine.stream_words()));
        }
        let (groups, middle) = shell::multipliers(machine, self.facts.device.family().leaves(), store.rows > 0);
        let anchors = floorplan::plan(&self.facts.device, &groups, &middle);
        yosys::synthesise_at(&rtl, self.facts.device.family(), &anchors, &self.folder, &Toolbox::default())
            .map_err(|error| synthesis_failure(&error))
    }

    /// Synthesise what was built, with what routes it: the netlist, what it takes for people, and for programs.
    ///
    /// # Errors
    /// Yosys is missing or fails; a file cannot be written.
    pub fn synthesised(
        &self,
        built: &Built,
        guard: &Guard,
        progress: &dyn Progress,
    ) -> Result<(Netlist, String, Synthesis), Failure> {
        let netlist = self.synthesise(built.design(), progress)?;
        self.add_flow(&built.machine, SEEDS[0], guard)?;
        let (text, synthesis) = self.synthesis_report(built.design(), &netlist);
        Ok((netlist, text, synthesis))
    }

    /// Write what places and routes the netlist without this tool, with a seed to begin with: constraints and a Makefile.
    ///
    /// # Errors
    /// A file cannot be written.
    fn add_flow(&self, machine: &Machine, seed: u32, guard: &Guard) -> Result<(), Failure> {
        let (Some(flow), Some(constraints)) = (&self.flow, self.constraints(machine)?) else { return Ok(()) };
        let mut files = Files::new();
        files.add("Makefile", flow.makefile(seed, &self.facts.programmer));
        files.add(flow.constraints(), constraints.text);
        files.publish(&self.folder, Earlier::Kept, guard)
    }

    /// What a netlist takes of the device: name, used, available.
    pub fn taken(&self, netlist: &Netlist) -> Vec<(&'static str, u64, u64)> {
        let (cells, has) = (netlist.cells, self.facts.resources);
        let mut taken = vec![
            ("LUT", cells.lut, has.lut),
            ("FF", cells.ff, has.ff),
            ("DSP", cells.dsp, has.dsp),
            ("BRAM", cells.bram, has.bram),
        ];
        taken.extend((has.spram > 0).then_some(("SPRAM", cells.spram, has.spram)));
        taken
    }

    /// A synthesised netlist against its device, for people and for programs.
    fn synthesis_report(&self, design: hdl::Design<'_>, netlist: &Netlist) -> (String, Synthesis) {
        let (machine, taken) = (design.machine(), self.taken(netlist));
        let family = self.facts.device.family();
        let store = self.store(machine).unwrap_or_default();
        let grid = resources::estimate(design, Some(family)).within(&self.facts.resources);
        let Estimate { lut, ff, dsp, bram, .. } = resources::beside_store(grid, machine, family, store);
        // A grid takes no large memory.
        let estimated = [lut, ff, dsp, bram, 0];
        let mut text = format!(
            "{machine}, accumulator {} bits, on {} ({})\nalignments {}; shifts {}; shifts of roots {}\n\ncells       used  available            estimated\n",
            machine.accumulator(),
            self.facts.title,
            self.facts.part,
            machine.alignments(),
            machine.shifts(),
            machine.root_shifts(),
        );
        for ((name, used, available), estimated) in taken.iter().zip(estimated) {
            let percent = 100.0 * *used as f64 / (*available).max(1) as f64;
            text += &format!("{name:5} {used:10} {available:10}   {percent:5.1} % {estimated:10}\n");
        }
        let pes = f64::from(machine.pes());
        let per_pe = |used: u64| used as f64 / pes;
        text += &format!(
            "\nper PE, everything included: {:.1} LUT, {:.1} FF, {:.2} DSP, {:.2} BRAM\n",
            per_pe(taken[0].1),
            per_pe(taken[1].1),
            per_pe(taken[2].1),
            per_pe(taken[3].1)
        );
        let cells = taken.iter().zip(estimated);
        let cell = |(&(name, used, available), estimated)| Cells { name, used, available, estimated };
        let document = Synthesis {
            board: self.project.board.name.clone(),
            part: self.facts.part.clone(),
            machine: machine.clone().into(),
            cells: cells.map(cell).collect(),
            types: netlist.types.clone(),
        };
        (text, document)
    }
}

/// `fpga/summary.json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// Version of the document's form.
    #[schemars(extend("const" = 1))]
    schema_version: u32,
    /// The board.
    board: String,
    /// The program.
    program: String,
    /// Clock of the grid.
    clock_mhz: f64,
    /// Cells.
    synthesis: Synthesis,
    #[serde(flatten)]
    bitstream: BitstreamSummary,
}

/// A bitstream was written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Made {
    /// The file.
    pub bitstream: String,
    /// What it was made of; nothing where the vendor's tool made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// The same for people.
    #[serde(skip)]
    pub text: String,
}

impl Hardware<'_> {
    /// Refuse, before anything is written, a board without pins, and files in the way of the vendor's tool.
    ///
    /// # Errors
    /// As it says.
    pub fn check(&mut self, built: &Built, out: &Path, guard: &Guard) -> Result<(), Failure> {
        self.needs = built.needs;
        if self.flow.is_none() {
            return guard.check_work(out, |name| [BITSTREAM, HANDOFF].contains(&name));
        }
        self.pins(&built.machine).map(drop)
    }

    /// Synthesise what was built, place, route and pack it; the files of the build are in `out`.
    ///
    /// # Errors
    /// The board has no pins; a tool is missing or fails; the design does not fit, or not at its clock.
    pub fn bitstream(
        &self,
        built: &Built,
        out: &Path,
        guard: &Guard,
        progress: &dyn Progress,
    ) -> Result<Made, Failure> {
        let Some(flow) = &self.flow else { return self.by_vivado(out, progress) };
        let constraints = self.pins(&built.machine)?;
        let (netlist, text, synthesis) = self.synthesised(built, guard, progress)?;
        let note = |text: String, detail: bool| progress.note(&Note::Makes { text, detail });
        let mut tell = |seed: u32, routed: Option<&fpga::flow::Routed>| match routed {
            None => note(format!("place and route with seed {seed}"), true),
            Some(routed) => {
                for clock in &routed.clocks {
                    let (name, reached, wanted) = (&clock.name, clock.achieved_mhz, clock.constraint_mhz);
                    note(format!("seed {seed}: {name} {reached:.2} MHz of {wanted:.2} MHz"), false);
                }
            }
        };
        let placed = flow.run(&netlist, &constraints.text, SEEDS, &Toolbox::default(), &mut tell);
        let bitstream = placed.map_err(|error| self.place_failure(&error))?;
        let (project, seed) = (self.project, bitstream.seed);
        let summary = Summary {
            schema_version: 1,
            board: project.board.name.clone(),
            program: project.name(),
            clock_mhz: project.board.clock_mhz,
            synthesis,
            bitstream: bitstream.summary(),
        };
        let mut files = Files::new();
        let title = format!("{} on {}, seed {seed}", project.name(), self.facts.title);
        if let Some(die) = die::svg(&bitstream.die, &title) {
            files.add(DIE, charts::alone(&die));
        }
        files.add("summary.json", writing::pretty(&summary));
        files.add("Makefile", flow.makefile(seed, &self.facts.programmer));
        files.publish(&self.folder, Earlier::Kept, guard)?;
        let clock = bitstream.routed.critical().map_or(String::new(), |clock| {
            let (reached, wanted) = (clock.achieved_mhz, clock.constraint_mhz);
            format!("clock {reached:.2} MHz, {wanted:.2} MHz asked for, seed {seed}\n")
        });
        let file = bitstream.file.display().to_string();
        let text = format!("{text}{clock}{file}\nload it with: {} {file}\n", self.facts.programmer);
        Ok(Made { bitstream: file, summary: Some(summary), text })
    }

    /// The places of the pins of a board with an open flow.
    ///
    /// # Errors
    /// It has none.
    fn pins(&self, machine: &Machine) -> Result<Source, Failure> {
        let none = || Failure::Usage(format!("{} has no pins: its file has no table [io]", self.facts.title));
        self.constraints(machine)?.ok_or_else(none)
    }

    /// The way of devices without an open flow: the vendor's tool runs the script of the build.
    fn by_vivado(&self, out: &Path, progress: &dyn Progress) -> Result<Made, Failure> {
        let text = format!("running vivado with the script in {}; this takes a while", out.display());
        progress.note(&Note::Makes { text, detail: true });
        match fpga::vivado::run(&self.facts.part, out, &Toolbox::default()) {
            Ok(bitstream) => {
                let file = bitstream.display().to_string();
                Ok(Made { text: format!("{file}\n"), bitstream: file, summary: None })
            }
            Err(error @ VivadoError::File { .. }) => Err(Failure::File(error.to_string())),
            Err(error) => Err(Failure::Tool(error.to_string())),
        }
    }
}

/// What a failed synthesis is to the user.
fn synthesis_failure(error: &YosysError) -> Failure {
    match error {
        YosysError::File { .. } => Failure::File(error.to_string()),
        YosysError::Missing(_) | YosysError::Failed { .. } | YosysError::Statistics { .. } => {
            Failure::Tool(error.to_string())
        }
    }
}

/// What a failed flow is to the user, as far as it needs no configuration to be shown.
pub fn flow_failure(error: FlowError) -> Failure {
    match error {
        FlowError::File { .. } => Failure::File(error.to_string()),
        error => Failure::Tool(error.to_string()),
    }
}

impl Hardware<'_> {
    /// What a failed place and route is to the user.
    pub fn place_failure(&self, error: &FlowError) -> Failure {
        let (_, source) = self.config();
        let does_not_fit = |help: &str| {
            let diagnostic = Diagnostic::global(Code::Backend, error.to_string()).with_help(help);
            Failure::DoesNotFit { source: source.clone(), diagnostics: vec![diagnostic] }
        };
        match error {
            FlowError::Overfull(_) => does_not_fit(
                "take fewer PEs: `pus` and `pes_per_pu` in [machine]; `store = \"none\"` in [board] leaves out a sample store",
            ),
            FlowError::MissedClock { .. } => {
                does_not_fit("no bitstream was written; ask for a slower clock with `clock_mhz` in [board]")
            }
            FlowError::Unrouted { .. } => {
                does_not_fit("try another seed (`--place-seed`) or fewer PEs: `pus` and `pes_per_pu` in [machine]")
            }
            FlowError::Constraint(_) => {
                let constraints = self.project.board.known.as_ref().and_then(|known| known.constraints.clone());
                let place = Source { text: String::new(), ..constraints.unwrap_or(source) };
                Failure::about(&place, vec![Diagnostic::global(Code::Config, error.to_string())])
            }
            FlowError::File { .. } => Failure::File(error.to_string()),
            FlowError::Missing(_) | FlowError::Failed { .. } => Failure::Tool(error.to_string()),
        }
    }
}

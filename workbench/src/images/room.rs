//! Room: whether a board holds a machine, by estimate.

use super::resources;
use crate::config::Microcode;
use arch::Machine;
use arch::amounts::Amounts;
use arch::machine::MachineSpec;
use compiler::fixed::Program;
use fpga::board::{Board, Resources};
use fpga::family::Family;

/// What a board has, and how programs are held on it.
#[derive(Debug, Clone)]
pub struct Room {
    title: String,
    family: Family,
    has: Resources,
    pub(super) microcode: Microcode,
}

/// Shift amounts of programs that are not compiled yet: few need more.
pub(crate) const USUAL_SHIFTS: [u32; 4] = [0, 14, 15, 16];

/// Part of the look-up tables and registers that is left to place and route, in percent. Designs of 65 % were routed (docs/boards.md), one of 95 % was
/// not.
const RESERVE: u64 = 20;

impl Room {
    /// The room on a board.
    pub fn new(facts: &Board, microcode: Microcode) -> Room {
        Room { title: facts.title.clone(), family: facts.device.family(), has: facts.resources, microcode }
    }

    /// The same where programs are held so.
    #[must_use]
    pub fn holding(self, microcode: Microcode) -> Room {
        Room { microcode, ..self }
    }

    /// The same without the look-up tables and registers that place and route needs to find its ways.
    #[must_use]
    pub fn to_route(mut self) -> Room {
        for cells in [&mut self.has.lut, &mut self.has.ff] {
            *cells -= *cells * RESERVE / 100;
        }
        self
    }

    /// The machine with pads of what the board has, where `given` leaves that open (`pads_in_rows`, `block_depth`; programs see neither): the first of
    /// [`Room::ways`] that fits, or the one that lacks least.
    #[must_use]
    pub fn suited(&self, machine: &Machine, given: &MachineSpec) -> Machine {
        let mut best: Option<(u64, Machine)> = None;
        for machine in self.ways(machine, given) {
            let beyond = self.beyond(&machine);
            if best.as_ref().is_none_or(|(least, _)| beyond < *least) {
                best = Some((beyond, machine));
            }
            if beyond == 0 {
                break;
            }
        }
        best.map_or_else(|| machine.clone(), |(_, machine)| machine)
    }

    /// What pads can be made of: each alone as synthesis decides, or all of a row side by side; then the same with deeper ones in look-up tables than
    /// synthesis puts there, and with only those that take one table for a bit.
    fn ways(&self, machine: &Machine, given: &MachineSpec) -> impl Iterator<Item = Machine> {
        // Side by side, shallow pads are wide enough for block memories unless synthesis is told otherwise.
        let usual = [(false, None), (true, self.least_block_depth())];
        let in_tables = [2, 4].map(|times| self.least_block_depth().map(|least| (least - 1) * times));
        let held = in_tables.into_iter().chain([self.words_in_a_table()]).flatten();
        let told = held.flat_map(|words| [true, false].map(|rows| (rows, Some(words + 1))));
        let (spec, rows, depth) = (MachineSpec::from(machine.clone()), given.pads_in_rows, given.block_depth);
        let ways = usual.into_iter().chain(told).filter(move |way| rows.is_none_or(|rows| rows == way.0));
        ways.filter_map(move |(rows, own)| {
            let (pads_in_rows, block_depth) = (Some(rows), depth.or(own).or(Some(0)));
            Machine::try_from(MachineSpec { pads_in_rows, block_depth, ..spec.clone() }).ok()
        })
    }

    /// Words from which a memory is made of block memories; `None` where there are no others.
    fn least_block_depth(&self) -> Option<u32> {
        let shallow = &self.family.facts().estimate.memories.shallow;
        shallow.iter().map(|&(deepest, ..)| deepest as u32 + 1).max()
    }

    /// Words that a look-up table holds for a bit; `None` where the device does not say how many tables hold words.
    fn words_in_a_table(&self) -> Option<u32> {
        let shallow = &self.family.facts().estimate.memories.shallow;
        shallow.first().filter(|_| self.has.lutram > 0).map(|&(_, words, ..)| words as u32)
    }

    /// Whether the pads of a machine have words that come late: those of block memories, on a family where these decide the clock.
    pub(crate) fn has_late_pads(&self, machine: &Machine) -> bool {
        let costs = &self.family.facts().estimate;
        costs.late_block_memory && resources::pads(machine, costs).blocks > 0
    }

    /// The board, for people.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What a machine takes beyond the board, in thousandths of what the board has; 0: it fits. Shifters that programs are going to decide count as
    /// small.
    pub fn beyond(&self, machine: &Machine) -> u64 {
        let small = |amounts: Amounts| if amounts == Amounts::ANY { Amounts::of(USUAL_SHIFTS) } else { Some(amounts) };
        let spec = MachineSpec {
            alignments: small(machine.alignments()),
            shifts: small(machine.shifts()),
            root_shifts: small(machine.root_shifts()),
            ..MachineSpec::from(machine.clone())
        };
        let machine = Machine::try_from(spec).unwrap_or_else(|_| machine.clone());
        let over = |(_, needed, has): (&str, u64, u64)| (needed.saturating_sub(has) * 1000).div_ceil(has.max(1));
        resources::estimate_of(&machine, self.family, self.microcode).kinds(&self.has).map(over).sum()
    }

    /// Whether it holds a grid whose open memories are as small as they can be with these programs; where it does not, nothing has to be tried.
    pub fn may_hold(&self, programs: &[&Program], spec: &MachineSpec) -> bool {
        let Ok(grid) = Machine::try_from(spec.clone()) else { return false };
        let least = |depth: Option<u32>| depth.or(Some(16));
        let kept = programs.iter().map(|program| program.least_kept(grid.pes()).max(16)).max();
        let smallest = MachineSpec {
            model_depth: spec.model_depth.or(kept),
            data_depth: least(spec.data_depth),
            temporary_depth: least(spec.temporary_depth),
            program_depth: least(spec.program_depth),
            gradient_depth: spec.gradient_depth.or(Some(0)),
            ..spec.clone()
        };
        Machine::try_from(smallest).is_ok_and(|machine| self.beyond(&self.suited(&machine, spec)) == 0)
    }

    /// What the board has too little of, as `about needed NAME of available`.
    pub fn lacks(&self, design: hdl::Design<'_>) -> Vec<String> {
        let estimate = resources::estimate(design, Some(self.family));
        let short = estimate.kinds(&self.has).filter(|kind| kind.1 > kind.2);
        short.map(|(name, needed, available)| format!("about {needed} {name} of {available}")).collect()
    }
}

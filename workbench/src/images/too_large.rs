//! Too large: what the board of a project does not hold is refused, with what it would.
//!
//! ```text
//! design ──estimate──▶ cells against the board ──▶ too much? ──▶ smaller grids and batches, compiled and counted ──▶ E-BACKEND, with what fits
//! ```

use super::fit::{FitRequest, fit};
use super::room::Room;
use crate::config::Microcode;
use crate::failure::Failure;
use crate::project::Project;
use arch::image::Image;
use arch::machine::MachineSpec;
use arch::{Code, Diagnostic, Machine};
use compiler::fixed::Program;
use compiler::optimisations::Disabled;

/// Whether a board holds a grid for these programs, whose specification leaves memories open.
pub(crate) fn holds(room: &Room, programs: &[&Program], spec: &MachineSpec) -> bool {
    let request = FitRequest {
        spec: spec.clone(),
        board: Some(room.clone()),
        disabled: Disabled::NOTHING,
        machines: None,
        input: None,
    };
    room.may_hold(programs, spec)
        && fit(programs, &request).is_ok_and(|fitted| match room.microcode {
            Microcode::Ram => room.lacks(hdl::Design::Loadable(&fitted.machine)).is_empty(),
            Microcode::Rom => room.lacks(hdl::Design::Fixed(&fitted.compiled[0].image, "")).is_empty(),
        })
}

/// Grids between two sizes that are tried.
const MOST_TRIED: usize = 24;

/// Numbers that are halves of one, halves of these, and so on.
fn halves(most: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS).map(move |half| most >> half).take_while(|&lines| lines > 0)
}

/// The largest grid below that of `machine` that the board holds, by halves of its rows and columns; then one with more rows, if that is to `fill` the
/// board.
fn smaller(
    room: &Room,
    (programs, spec): (&[&Program], &MachineSpec),
    machine: &Machine,
    fill: bool,
) -> Option<Machine> {
    let of_rows = |pus: u32| halves(machine.pes_per_pu()).map(move |columns| (pus, columns));
    let by_size = |grids: &mut Vec<(u32, u32)>| {
        grids.sort_by_key(|&(pus, columns)| (std::cmp::Reverse(pus * columns), pus.abs_diff(columns)));
    };
    let held = |&(pus, columns): &(u32, u32)| {
        let stream_words = spec.stream_words.filter(|&words| (pus * columns).is_multiple_of(words));
        let (pus, pes_per_pu) = (Some(pus), Some(columns));
        let spec = MachineSpec { pus, pes_per_pu, stream_words, ..spec.clone() };
        Machine::try_from(spec.clone()).ok().filter(|_| holds(room, programs, &spec))
    };
    let mut grids: Vec<(u32, u32)> = halves(machine.pus()).flat_map(of_rows).collect();
    by_size(&mut grids);
    let found = grids.iter().skip(1).find_map(held)?;
    if !fill {
        return Some(found);
    }
    let more = found.pes() + 1..machine.pes();
    let mut grids: Vec<(u32, u32)> = (1..=machine.pus()).flat_map(of_rows).collect();
    grids.retain(|&(pus, columns)| more.contains(&(pus * columns)));
    by_size(&mut grids);
    // A grid may fit between two that do not: memories come in blocks.
    let each = grids.len().div_ceil(MOST_TRIED).max(1);
    Some(grids.iter().step_by(each).find_map(held).unwrap_or(found))
}

/// What a project makes of an image.
pub(crate) fn hardware<'a>(project: &Project, image: &'a Image) -> hdl::Design<'a> {
    match project.config.build.microcode {
        Microcode::Ram => hdl::Design::Loadable(&image.machine),
        Microcode::Rom => hdl::Design::Fixed(image, ""),
    }
}

/// A grid that the board holds with room to place and route, if that of a design is too large for it.
pub(crate) fn routable(
    project: &Project,
    design: hdl::Design<'_>,
    (programs, spec): (&[&Program], &MachineSpec),
) -> Option<Machine> {
    let room = project.fit_request().board?.to_route();
    if room.lacks(design).is_empty() { None } else { smaller(&room, (programs, spec), design.machine(), false) }
}

/// Refuse a design that the board of its project does not hold, with what would fit: a smaller grid, the same one with its program inside, or a smaller
/// batch if there is one (`batch` looks for it). The programs come with the specification that they are fitted to.
///
/// # Errors
/// It does not fit.
pub(crate) fn check(
    project: &Project,
    design: hdl::Design<'_>,
    (programs, spec): (&[&Program], &MachineSpec),
    batch: impl FnOnce(&Room) -> Option<u32>,
) -> Result<(), Failure> {
    let Some(room) = project.fit_request().board else { return Ok(()) };
    let lacks = room.lacks(design);
    if lacks.is_empty() {
        return Ok(());
    }
    let machine = design.machine();
    let message = format!("{machine} do not fit {}: {}", room.title(), lacks.join(", "));
    let mut ways = Vec::new();
    if let Some(size) = batch(&room) {
        ways.push(format!("batches of {size} would fit on this grid: batch = {size}"));
    }
    let loadable = matches!(design, hdl::Design::Loadable(_));
    if loadable && holds(&room.clone().holding(Microcode::Rom), programs, spec) {
        ways.push("this grid would fit with the program in it: microcode = \"rom\"".to_owned());
    }
    if let Some(fits) = smaller(&room, (programs, spec), machine, true) {
        let (pus, columns, words) = (fits.pus(), fits.pes_per_pu(), fits.stream_words());
        let stream = spec.stream_words.filter(|&given| given != words);
        let stream = stream.map_or_else(String::new, |_| format!(", stream_words = {words}"));
        ways.push(format!("{pus} x {columns} PEs would fit: pus = {pus}, pes_per_pu = {columns}{stream}"));
    }
    let help = if ways.is_empty() {
        "nor does it hold this program with a smaller grid: narrower words may fit, or a smaller model".to_owned()
    } else {
        format!("with this program, {}", ways.join("; "))
    };
    let diagnostic = Diagnostic::global(Code::Backend, message).with_help(help);
    let config = project.config_source.as_ref().map(|(_, source)| source.clone());
    Err(Failure::DoesNotFit { source: config.unwrap_or_else(|| project.source.clone()), diagnostics: vec![diagnostic] })
}

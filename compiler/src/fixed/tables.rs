//! The table memory: which table each use of a function gets, and which functions are refined because there is no accurate one.
//!
//!     uses (function, input format, output format, words seen) ──▶ smallest accurate table each ──▶ do they fit together?
//!         yes: done      no: refine the function that wants most, and ask again      nothing left to refine: the best that fit
//!
//! Formats never give up bits for a table. What stays inaccurate is named in a note.

use super::formats::Formats;
use super::refine::{Refinement, called};
use crate::canonical::expr::Expr;
use crate::canonical::primitive::{Atom, Primitive};
use crate::tensor::{Function, Nest};
use arch::function::{FunctionTable, MAX_ERROR};
use arch::{Code, Diagnostic};
use std::collections::BTreeMap;

/// What a table is for: the function, the bits after the binary points of its input and its output.
pub(super) type Use = (Function, i32, i32);

/// What is to be done about the tables.
pub(super) enum Choice {
    /// They fit: the table of each use; and how many functions are less accurate than their formats.
    Tables(BTreeMap<Use, FunctionTable>, usize),
    /// This function is to be refined; whether only for want of room beside the others.
    Refine(Function, bool),
    /// All is refined that can be, and the tables do not fit together: smaller ones have to do.
    TooLarge,
}

/// Error in last places from which on a function is refined: three bits are worth the operations that it takes. Less is said in a note.
const REFINED_ERROR: f64 = 8.0;

/// Entries of the smallest share of the table memory.
const SMALLEST_SHARE: u32 = 16;

/// What is asked of one table.
struct Demand {
    /// The words that its inputs were seen to have.
    seen: (i64, i64),
    /// How large its table may be.
    limit: u32,
    /// Whether it is part of a refinement: what lies beyond the words that were seen does not matter.
    refined: bool,
}

fn demands(formats: &Formats, nests: &[(Nest, Primitive)], refinement: &Refinement) -> BTreeMap<Use, Demand> {
    let mut found: BTreeMap<Use, Demand> = BTreeMap::new();
    for (nest, primitive) in nests {
        let Primitive::Function(function, Atom::Read(input, _)) = primitive else { continue };
        let made = refinement.has_made(nest.out);
        let (low, high) = formats.words(*input, !made);
        let demand = found.entry((*function, formats.fraction(*input), formats.fraction(nest.out))).or_insert(Demand {
            seen: (low, high),
            limit: 0,
            refined: true,
        });
        demand.seen = (demand.seen.0.min(low), demand.seen.1.max(high));
        // What a refinement starts from needs no more accuracy than a share of the memory gives.
        let start = refinement.starts.contains(&nest.out);
        demand.limit = demand.limit.max(if start { refinement.share } else { formats.numbers.table_entries });
        demand.refined &= made;
    }
    found
}

/// Find a table for each use of a function.
pub(super) fn choose(formats: &mut Formats, nests: &[(Nest, Primitive)], refinement: &Refinement) -> Choice {
    let memory = formats.numbers.table_entries;
    let word = formats.numbers.word;
    let demands = demands(formats, nests, refinement);
    let fit = |&(function, input, output): &Use, demand: &Demand, limit: u32| {
        let whole = if demand.refined { None } else { FunctionTable::fit(function, word, input, output, limit) };
        whole.map_or_else(
            || FunctionTable::closest(function, word, (input, output), demand.seen, limit),
            |table| (table, MAX_ERROR),
        )
    };
    let mut tables: BTreeMap<Use, (FunctionTable, f64)> = BTreeMap::new();
    for (of, demand) in &demands {
        tables.insert(*of, fit(of, demand, demand.limit));
    }
    let total = |tables: &BTreeMap<Use, (FunctionTable, f64)>| -> usize {
        tables.values().map(|(table, _)| table.entries.len()).sum()
    };
    let shrink = |tables: &mut BTreeMap<Use, (FunctionTable, f64)>, limit: u32, which: fn(&Demand) -> bool| {
        for (of, demand) in demands.iter().filter(|(_, demand)| which(demand)) {
            if tables[of].0.entries.len() > limit as usize {
                tables.insert(*of, fit(of, demand, limit));
            }
        }
    };
    let together = total(&tables) <= memory as usize;
    // The function that wants most, inaccurate ones before all others.
    let candidates = nests.iter().filter_map(|(nest, _)| {
        let (function, Expr::Read(input, _)) = called(nest)? else { return None };
        let of = (function, formats.fraction(input), formats.fraction(nest.out));
        let (table, error) = tables.get(&of)?;
        let inaccurate = *error > REFINED_ERROR;
        (refinement.may_refine(nest, function) && (inaccurate || !together)).then_some((
            inaccurate,
            table.entries.len(),
            function,
        ))
    });
    if let Some((inaccurate, _, function)) = candidates.max() {
        return Choice::Refine(function, !inaccurate);
    }
    if !together && refinement.refines() && refinement.share > SMALLEST_SHARE {
        // A function that cannot be refined may have half of the memory, if the others are content with the rest.
        shrink(&mut tables, memory / 2, |demand| !demand.refined);
        if total(&tables) > memory as usize {
            return Choice::TooLarge;
        }
    }
    let mut limit = memory;
    while total(&tables) > memory as usize && limit > 2 {
        limit /= 2;
        shrink(&mut tables, limit, |_| true);
    }
    let inaccurate = note_inaccurate(formats, nests, &tables, refinement);
    Choice::Tables(tables.into_iter().map(|(of, (table, _))| (of, table)).collect(), inaccurate)
}

/// Say which functions are less accurate than their formats; their number.
fn note_inaccurate(
    formats: &mut Formats,
    nests: &[(Nest, Primitive)],
    tables: &BTreeMap<Use, (FunctionTable, f64)>,
    refinement: &Refinement,
) -> usize {
    let mut inaccurate = 0;
    for (nest, primitive) in nests {
        let Primitive::Function(function, Atom::Read(input, _)) = primitive else { continue };
        let (table, error) = &tables[&(*function, formats.fraction(*input), formats.fraction(nest.out))];
        if *error <= MAX_ERROR || refinement.starts.contains(&nest.out) {
            continue;
        }
        let name = &formats.program.tensors[nest.out.0].name;
        let (has, all) = (table.entries.len(), formats.numbers.table_entries);
        let message = format!(
            "`{name}` may be wrong by {:.0} units of its last place: its table of `{function}` has {has} of {all} entries",
            libm::ceil(*error)
        );
        let help = format!("`table_entries = {}` in the [machine] table makes it more accurate", (4 * all).max(64));
        formats.notes.push(Diagnostic::new(Code::WarnNumber, nest.origin.span(), message).with_help(help));
        inaccurate += 1;
    }
    inaccurate
}

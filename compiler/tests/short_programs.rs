//! Program memories are a limit of the search like the pads: where the fastest placement has too many instructions for them, another one is taken.

use arch::Machine;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction, canonicalise};
use compiler::fixed::{self, Numbers};
use compiler::language::{self, Language};
use compiler::ranges::Ranges;
use compiler::search::{Compiled, compile, compile_elsewhere};
use std::path::Path;

/// A training of `programs/`, with these constants, in batches of eight.
fn training(name: &str, set: &[(&str, f64)]) -> fixed::Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs").join(name);
    let text = std::fs::read_to_string(path).expect("a program");
    let set = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let dialect = language::Options { set, ..language::Options::default() };
    let (program, _) = language::parse(Language::Tabla, &text, &dialect).expect("a good program");
    let batch = Batch { size: 8, reduction: Reduction::Mean };
    let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch };
    let canonical = canonicalise(&program, &options).expect("it can be batched");
    let ranges = Ranges::of_tensors(vec![Some((-1.0, 1.0)); canonical.tensors.len()]);
    fixed::lower(&canonical, &ranges, &Numbers::of_width(16)).expect("numbers fit").0
}

/// A grid of 2 x 8 PEs with room for so many instructions, and for everything else.
fn grid(program_depth: u32) -> Machine {
    let spec = MachineSpec {
        pus: Some(2),
        pes_per_pu: Some(8),
        gradient_depth: Some(1024),
        program_depth: Some(program_depth),
        table_entries: Some(4096),
        ..MachineSpec::default()
    };
    Machine::try_from(spec).expect("a grid")
}

fn longest(compiled: &Compiled) -> usize {
    let image = &compiled.image;
    [image.alu.len(), image.root.len(), image.moves.len(), image.load.len()].into_iter().max().expect("four")
}

/// Each placement by itself says how few instructions would do.
#[test]
fn what_has_room_for_some_placement_is_compiled() {
    let program = training("recommender.t", &[("m", 138.0), ("n", 130.0), ("k", 10.0)]);
    let roomy = grid(2048);
    let best = compile(&program, &roomy).expect("there is room");
    let placements = (0..6).filter_map(|number| compile_elsewhere(&program, &roomy, number).ok());
    let few: Vec<u64> = placements.filter(|found| longest(found) <= 16).map(|found| found.cycles).collect();
    assert!(longest(&best) > 16 && !few.is_empty(), "{} instructions, {few:?} cycles with few", longest(&best));
    let found = compile(&program, &grid(16)).expect("there is a placement with few instructions");
    assert!(longest(&found) <= 16 && found.cycles >= best.cycles);
    let Err(refusal) = compile(&program, &grid(8)) else { panic!("eight instructions are too few") };
    let help = refusal.diagnostic().help.as_deref().expect("a batch of this size does not fit either");
    assert!(help.contains("one sample fit: the") && help.contains("instructions"), "{help}");
    assert!(few.iter().all(|&cycles| found.cycles <= cycles), "{} cycles, {few:?} elsewhere", found.cycles);
}

/// Where no placement has so few, the refusal says so, and not that pads are too small.
#[test]
fn what_has_room_for_none_is_refused() {
    let program = training("recommender.t", &[("m", 14.0), ("n", 13.0), ("k", 4.0)]);
    let Err(refusal) = compile(&program, &grid(8)) else { panic!("eight instructions are too few") };
    let message = &refusal.diagnostic().message;
    assert!(message.contains("instructions, the machine has room for 8"), "{message}");
}

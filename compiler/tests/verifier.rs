//! A schedule that is wrong is noticed, whatever is wrong with it: the verifier is the last to look at an image.

use arch::image::Image;
use arch::isa::{Tiles, innermost};
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction, canonicalise};
use compiler::fixed::{self, Numbers};
use compiler::image::verify;
use compiler::language::{self, Language};
use compiler::ranges::Ranges;
use compiler::scheduled::Cause;
use compiler::search::{Compiled, compile_fitted};
use compiler::tensor::Program;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Backpropagation with these layers, on a grid.
fn compiled(layers: [f64; 3], size: u32, grid: (u32, u32)) -> Compiled {
    let set = ["l1", "l2", "l3"].into_iter().zip(layers).collect::<Vec<_>>();
    of("backpropagation.t", &set, size, grid, None)
}

/// A program with these constants, in batches of `size`, on a grid; with a scalar unit, without, or as it is faster.
fn of(name: &str, set: &[(&str, f64)], size: u32, grid: (u32, u32), scalar: Option<bool>) -> Compiled {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs").join(name);
    let text = std::fs::read_to_string(path).expect("a program");
    let set = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let dialect = language::Options { set, ..language::Options::default() };
    let (program, _) = language::parse(Language::Tabla, &text, &dialect).expect("a good program");
    let batch = Batch { size, reduction: Reduction::Mean };
    lowered(&program, &Options { keep: Keep::Training { predictions: Vec::new() }, batch }, grid, scalar)
}

fn lowered(program: &Program, options: &Options, grid: (u32, u32), scalar: Option<bool>) -> Compiled {
    let spec = MachineSpec {
        pus: Some(grid.0),
        pes_per_pu: Some(grid.1),
        stream_words: Some(32.min(grid.0 * grid.1)),
        scalar,
        ..MachineSpec::default()
    };
    on(program, options, &spec)
}

fn on(program: &Program, options: &Options, spec: &MachineSpec) -> Compiled {
    let canonical = canonicalise(program, options).expect("it can be batched");
    let ranges = Ranges::of_tensors(vec![Some((-1.0, 1.0)); canonical.tensors.len()]);
    let (lowered, _) = fixed::lower(&canonical, &ranges, &Numbers::of_width(16)).expect("numbers fit");
    compile_fitted(&lowered, spec).expect("it fits")
}

/// What the verifier says of an image with a fault in it; `None`: nothing.
fn complaint(image: &Image, fault: impl FnOnce(&mut Image)) -> Option<String> {
    let mut wrong = image.clone();
    fault(&mut wrong);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let said = catch_unwind(AssertUnwindSafe(|| verify(&wrong)));
    std::panic::set_hook(hook);
    let said = said.err()?;
    let text = said.downcast_ref::<&str>().map(|&text| text.to_owned());
    Some(said.downcast_ref::<String>().cloned().or(text).unwrap_or_default())
}

/// In a step of 41,000 cycles in which nothing waits, and in a short one.
#[test]
fn every_fault_is_noticed() {
    let early = [compiled([784.0, 784.0, 10.0], 16, (16, 32)), compiled([64.0, 128.0, 10.0], 1, (8, 8))];
    let early: usize = early.iter().map(faults).sum();
    assert!(early > 0, "nothing waits for an operand");
}

/// Try all faults; how many of them were operands that are not there yet.
fn faults(compiled: &Compiled) -> usize {
    let image = &compiled.image;
    assert_eq!(complaint(image, |_| {}), None, "it is right as it is");
    let noticed = |what: &str, words: &str, fault: &dyn Fn(&mut Image)| {
        let said = complaint(image, fault).unwrap_or_else(|| panic!("{what} goes unnoticed"));
        assert!(said.contains(words), "{what}: {said}");
    };
    // Whatever a root or a bus does a cycle later, it misses what it was to take.
    for number in 0..image.root.len() {
        noticed("a late root", "a root beat needs one sum", &|image| image.root[number].delay += 1);
    }
    for number in 0..image.moves.len() {
        noticed("a late bus", "a move beat needs one result", &|image| image.moves[number].delay += 1);
    }
    noticed("a lost result", "a move beat needs one result", &|image| {
        image.moves.pop();
        image.entries.step_move = image.moves.last_mut().map(|last| {
            last.end = true;
            0
        });
    });
    noticed("a stream without end", "step of the move stream has no end", &|image| {
        image.moves.pop();
    });
    // The root's beats are one more than the sums.
    noticed("a sum too few", "", &|image| image.root.last_mut().unwrap().count += 1);
    noticed("a short step", "its streams are busy", &|image| image.step_length /= 2);
    // An instruction that waits for an operand must not start before that is there.
    let alu: Vec<_> = compiled.steps.iter().filter(|step| step.unit != "scalar unit").collect();
    let waiting: Vec<usize> =
        (0..alu.len()).filter(|&n| matches!(alu[n].cause, Some(Cause::Operand(_))) && image.alu[n].delay > 0).collect();
    for &number in &waiting {
        // The instructions after it keep their cycles.
        noticed("an early operand", "", &|image| {
            image.alu[number].delay -= 1;
            if let Some(next) = image.alu.get_mut(number + 1) {
                next.delay += 1;
            }
        });
    }
    waiting.len()
}

/// Tiles end before the update, and before nothing else: one that ends earlier is noticed, and so is one that leaves out what is not late.
#[test]
fn a_tile_that_ends_too_early_is_noticed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs/backpropagation.t");
    let text = std::fs::read_to_string(path).expect("a program");
    let (program, _) = language::parse(Language::Tabla, &text, &language::Options::default()).expect("a good program");
    let batch = Batch { size: 64, reduction: Reduction::Mean };
    let spec = MachineSpec { pus: Some(2), pes_per_pu: Some(4), data_depth: Some(128), ..MachineSpec::default() };
    let compiled = on(&program, &Options { keep: Keep::Training { predictions: Vec::new() }, batch }, &spec);
    let image = &compiled.image;
    assert!(image.tiles > 1 && image.tile_length < image.step_length, "{} {}", image.tiles, image.tile_length);
    for cycles in [1, 2, 10, image.tile_length / 2] {
        let said = complaint(image, |image| image.tile_length -= cycles);
        assert!(said.is_some(), "{cycles} cycles less go unnoticed");
    }
    assert_eq!(complaint(image, |image| image.tile_length += 20), None, "one that ends later is right");
    // What is late and cut off is needed in every tile now.
    for number in (0..image.alu.len()).filter(|&number| image.alu[number].tiles == Tiles::Last) {
        let said = complaint(image, |image| image.alu[number].tiles = Tiles::Every);
        assert!(said.is_some(), "instruction {number} is cut off unnoticed");
    }
}

/// A long vector in a batch: what the scalar unit sends goes between the results of the global root.
fn with_unit(scalar: Option<bool>) -> Compiled {
    of("svm.t", &[("m", 1740.0)], 64, (8, 8), scalar)
}

#[test]
fn every_fault_of_the_scalar_unit_is_noticed() {
    let compiled = with_unit(None);
    let image = &compiled.image;
    assert!(image.machine.scalar() && image.scalar.iter().any(|instruction| instruction.send), "the unit is of use");
    faults(&compiled);
    let noticed = |what: &str, words: &str, fault: &dyn Fn(&mut Image)| {
        let said = complaint(image, fault).unwrap_or_else(|| panic!("{what} goes unnoticed"));
        assert!(said.contains(words), "{what}: {said}");
    };
    for number in 0..image.scalar.len() {
        let words = if image.scalar[number].send { "a move beat needs one result" } else { "" };
        if image.scalar[number].send {
            noticed("a late result", words, &|image| image.scalar[number].alu.delay += 1);
            noticed("a result that is not sent", words, &|image| image.scalar[number].send = false);
        }
    }
    let first =
        |sends: bool| image.scalar.iter().position(|instruction| instruction.send == sends).expect("both are there");
    noticed("a result that nobody takes", "a move beat needs one result", &|image| {
        image.scalar[first(false)].send = true;
    });
    noticed("an operand too early", "", &|image| image.scalar[first(false)].alu.delay = 0);
    let loaded = image.load.iter().position(|load| load.scalar).expect("labels are loaded to it");
    noticed("a label that is not loaded", "the scalar unit has no", &|image| image.load[loaded].scalar = false);
    let moved = image.moves.iter().position(|moves| moves.scalar).expect("sums are moved to it");
    noticed("a sum that is not moved", "the scalar unit has no", &|image| {
        image.moves.iter_mut().skip(moved).for_each(|moves| moves.scalar = false);
    });
    let said = complaint(image, |image| {
        image.follows.pop();
    });
    let said = said.expect("a place in the program is missing");
    assert!(said.contains("each scalar instruction has a place"), "{said}");
}

/// A divider takes a quotient every 2 W + 1 cycles. Sums, roots and buses that all keep a faster pace have only that against them.
#[test]
fn quotients_that_come_too_fast_are_noticed() {
    let text = "def quotients(float(N) A, float(N) B) -> (Q) { Q(i) = A(i) / B(i) }";
    let shapes = ["A", "B"].map(|name| (name.to_owned(), vec![6])).to_vec();
    let dialect = language::Options { shapes, ..language::Options::default() };
    let (program, _) = language::parse(Language::TensorComprehensions, text, &dialect).expect("a good program");
    let keep = Keep::Prediction { names: vec!["Q".to_owned()], states: Vec::new() };
    let compiled = lowered(&program, &Options { keep, batch: Batch::SINGLE }, (1, 1), Some(false));
    let image = &compiled.image;
    let paced = |image: &Image, interval: u32| {
        let mut wrong = image.clone();
        let right = 2 * image.machine.word() + 1;
        let mut count = 0;
        let mut change = |own: &mut u32| {
            if *own == right {
                (*own, count) = (interval, count + 1);
            }
        };
        wrong.alu.iter_mut().for_each(|instruction| change(&mut instruction.interval));
        wrong.root.iter_mut().for_each(|instruction| change(&mut instruction.interval));
        wrong.moves.iter_mut().for_each(|instruction| change(&mut instruction.interval));
        assert!(count >= 3, "{count} instructions divide");
        complaint(image, |image| *image = wrong)
    };
    assert_eq!(paced(image, 33), None, "words of 16 bits");
    let said = paced(image, 32).expect("it goes unnoticed");
    assert!(said.contains("the divider is busy"), "{said}");
}

/// Without the unit every PE does the same.
#[test]
fn the_unit_takes_beats_from_the_pes() {
    let (with, without, possible) = (with_unit(Some(true)), with_unit(Some(false)), with_unit(None));
    assert_eq!(with.image.step_length, possible.image.step_length);
    assert!(with.image.step_length < without.image.step_length);
    assert!(without.image.scalar.is_empty() && !without.image.machine.scalar());
    // A single sample waits longer for the unit than for its PEs.
    let single = of("svm.t", &[("m", 1740.0)], 1, (8, 8), None);
    assert!(single.image.scalar.is_empty() && !single.image.machine.scalar());
}

/// Laws 1 and 2: what an image could say, and no grid does.
#[test]
fn an_image_that_does_not_fit_is_noticed() {
    let image = compiled([8.0, 4.0, 2.0], 1, (2, 2)).image;
    let noticed = |words: &str, fault: &dyn Fn(&mut Image)| {
        let said = complaint(&image, fault).unwrap_or_else(|| panic!("unnoticed: {words}"));
        assert!(said.contains(words), "{words}: {said}");
    };
    noticed("it has no 5 loops", &|image| image.alu[0].reduce = 5);
    noticed("it has too many beats", &|image| image.alu[0].counts = innermost(1, [60_000; 4]));
    let all = complaint(&image, |image| (0..2).for_each(|number| image.alu[number].reduce = 5)).expect("two laws");
    for instruction in ["in alu instruction 0: alu %0 \"", "in alu instruction 1: alu %1 \""] {
        assert!(all.contains(instruction), "{all}");
    }
    assert!(image.tables[0].usage.base == 0 && image.machine.table_entries() >= 1);
    noticed("law 1 of the image: it ends at", &|image| image.tables[0].usage.base = image.machine.table_entries());
    noticed("law 1 of the image: ", &|image| {
        let entry = image.tables[0].entries[0];
        image.tables[0].entries.resize(image.machine.table_entries() as usize + 1, entry);
    });
    // Two tables of half of the memory, one behind the other.
    let two = complaint(&image, |image| {
        let half = image.machine.table_entries() as usize / 2;
        let entry = image.tables[0].entries[0];
        image.tables[0].entries.resize(half, entry);
        let mut second = image.tables[0].clone();
        second.usage.base = half as u32;
        image.tables.push(second);
    });
    assert_eq!(two, None);
    noticed("there is no such table", &|image| image.tables.clear());
    noticed("has too many elements", &|image| image.tensors[0].shape = vec![1 << 15, 1 << 15]);
    noticed("has other words than elements", &|image| image.tensors[0].constant = Some(vec![1]));
    assert_eq!((image.tiles, image.machine.gradient_depth()), (1, 0));
    noticed("2 tiles on a machine without gradient pads", &|image| image.tiles = 2);
    noticed("0 tiles on a machine", &|image| image.tiles = 0);
}

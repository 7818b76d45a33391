//! Grids whose program is part of the hardware climb the ladder like others, and nothing else can be put into them.

use crate::modelled::Modelled;
use arch::machine::MachineSpec;
use arch::registers::{self, Region};
use arch::rtl::Rtl;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use compiler::tensor::Role;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::driver::Driver;
use sim::grid::{Grid, Lockstep, Stalls};
use sim::ladder::{Climb, NamedValues};
use sim::verilator::{GridDevice, Library};
use std::path::Path;

/// A program of the repository with three steps of random values, seed 1.
fn climb(name: &str, set: &[(&str, f64)], spec: &MachineSpec) -> Climb {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let set = set.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let (program, _) =
        language::parse(Language::Tabla, &text, &language::Options { set, ..language::Options::default() }).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut values = |wanted: fn(&Role) -> bool| -> NamedValues {
        let mut real = || f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5;
        let mut all = |shape: &[u32]| (0..shape.iter().product()).map(|_| real()).collect();
        let tensors = program.tensors.iter().filter(|tensor| wanted(&tensor.role));
        tensors.map(|tensor| (tensor.name.clone(), all(&tensor.shape))).collect()
    };
    let model = values(|role| matches!(role, Role::State));
    let steps = [(); 3].map(|()| values(|role| matches!(role, Role::Input | Role::Label)));
    let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch: Batch::SINGLE };
    Climb::new(&program, &options, &model, &steps, spec).unwrap()
}

fn spec(pus: u32, pes_per_pu: u32, accumulator: u32, table_entries: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(16),
        accumulator: Some(accumulator),
        table_entries: Some(table_entries),
        output_fifo: Some(16),
        ..MachineSpec::default()
    }
}

/// What a host might try: every word of programs and tables, every register but `steps`.
fn overwrite(grid: &mut impl Grid) {
    for region in [Region::Alu, Region::Root, Region::Move, Region::Load, Region::Tables, Region::Scalar] {
        for word in 0..256 {
            grid.control_write(region.base() + word, 0x5555_5555 ^ word);
        }
    }
    for register in registers::STEP_LENGTH..=registers::TILE_END {
        grid.control_write(register, 3);
    }
}

fn library(rtl: &Rtl) -> Library {
    Library::build(rtl, &sim::verilator::Options::brief()).unwrap()
}

#[test]
fn fixed_programs_run_on_the_rtl() {
    let climbs = [
        climb("logistic.t", &[("m", 30.0)], &spec(1, 2, 32, 256)),
        climb("backpropagation.t", &[], &MachineSpec { scalar: Some(true), ..spec(2, 3, 40, 512) }),
    ];
    for climb in climbs {
        let image = climb.image();
        let library = library(&hdl::elaborate(image));
        for stalls in [Stalls::none(), Stalls::seeded(3, 40, 40)] {
            let mut pair = Lockstep::new(Array::fixed(image), GridDevice::new(&library, &image.machine));
            let agreement = climb.run(&mut pair, stalls.clone()).unwrap();
            overwrite(&mut pair);
            let again = climb.run(&mut pair, stalls).unwrap();
            assert!(pair.mismatch().is_none(), "{}", pair.mismatch().unwrap());
            assert_eq!((agreement.words, agreement.cycles), (again.words, again.cycles));
            // The same cycles as with loaded programs.
            assert_eq!(climb.run(Array::new(&image.machine), Stalls::none()).unwrap().words, agreement.words);
            for register in registers::STEP_LENGTH..=registers::IMAGE {
                pair.control_read(register);
            }
            assert!(pair.mismatch().is_none(), "{}", pair.mismatch().unwrap());
        }
    }
}

#[test]
fn another_program_is_refused() {
    let (one, other) = (climb("logistic.t", &[("m", 30.0)], &spec(1, 2, 32, 256)), spec(1, 2, 32, 256));
    let other = climb("logistic.t", &[("m", 29.0)], &other);
    assert_ne!(one.image().identity(), other.image().identity());
    let fall = other.run(Array::fixed(one.image()), Stalls::none()).unwrap_err();
    assert!(fall.to_string().contains("another program is part of it"), "{fall}");
    let mut driver = Driver::new(Array::fixed(one.image()), one.image().clone(), Stalls::none());
    assert!(driver.run(one.first_steps(2)).is_ok());
}

/// A bit of the program is flipped in the text: the comparison sees it.
#[test]
fn a_wrong_constant_is_found() {
    let climb = climb("logistic.t", &[("m", 30.0)], &spec(1, 2, 32, 256));
    let mut rtl = hdl::elaborate(climb.image());
    let alu = rtl.verilog.find("module alu_program").unwrap();
    let column = rtl.verilog[alu..].find("column0 = ").unwrap() + alu;
    let digit = column + rtl.verilog[column..].find(';').unwrap() - 1;
    let flipped = if &rtl.verilog[digit..=digit] == "1" { "0" } else { "1" };
    rtl.verilog.replace_range(digit..=digit, flipped);
    let library = library(&rtl);
    let mut pair = Lockstep::new(Array::fixed(climb.image()), GridDevice::new(&library, &climb.image().machine));
    let run = climb.run(&mut pair, Stalls::none());
    assert!(run.is_err() || pair.mismatch().is_some());
}

#[test]
fn blocks_with_contents_simulate_as_their_text_does() {
    let climb = climb("logistic.t", &[("m", 5.0)], &spec(1, 2, 32, 64));
    let mut pair = Lockstep::new(Array::fixed(climb.image()), Modelled::new(climb.image()));
    overwrite(&mut pair);
    let run = climb.run(&mut pair, Stalls::none());
    assert!(pair.mismatch().is_none(), "{}", pair.mismatch().unwrap());
    assert!(run.unwrap().words > 0);
}

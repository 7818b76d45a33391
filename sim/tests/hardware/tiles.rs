//! Batches in tiles: data pads too small for a batch as a whole give the same words as it does.

use crate::made_up::values;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::language::{self, Language};
use compiler::tensor::Program;
use sim::array::Array;
use sim::benchmarks::{self, Prepared, Run};
use sim::grid::Stalls;
use sim::ladder::Climb;
use std::path::Path;

/// A program of `programs/` with these constants.
pub(crate) fn program(file: &str, set: &[(&str, u32)]) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let set = set.iter().map(|&(name, value)| (name.to_owned(), f64::from(value))).collect();
    let dialect = language::Options { set, ..language::Options::default() };
    language::parse(Language::Tabla, &text, &dialect).unwrap().0
}

fn spec(pus: u32, pes_per_pu: u32, data_depth: u32) -> MachineSpec {
    MachineSpec { pus: Some(pus), pes_per_pu: Some(pes_per_pu), data_depth: Some(data_depth), ..MachineSpec::default() }
}

fn climb(
    program: &Program,
    size: u32,
    reduction: Reduction,
    predictions: &[&str],
    spec: &MachineSpec,
) -> Result<Climb, String> {
    let predictions = predictions.iter().map(|&name| name.to_owned()).collect();
    let options = Options { keep: Keep::Training { predictions }, batch: Batch { size, reduction } };
    let (model, steps) = values(program, size, 3);
    Climb::new(program, &options, &model, &steps, spec).map_err(|errors| format!("{errors:?}"))
}

/// The published algorithms with data pads that hold a fraction of their batch.
#[test]
fn batches_in_tiles_give_the_same_words() {
    let layers = [("l1", 17), ("l2", 9), ("l3", 4)];
    let files: [(&str, &[(&str, u32)]); 5] = [
        ("linear.t", &[]),
        ("logistic.t", &[]),
        ("svm.t", &[]),
        ("backpropagation.t", &layers),
        ("recommender.t", &[("m", 6), ("n", 5), ("k", 2)]),
    ];
    let (mut tiled, mut elsewhere, mut through_trees) = (0, 0, 0);
    for (file, set) in files {
        let program = program(file, set);
        for (pus, pes_per_pu) in [(1, 2), (2, 4), (3, 5)] {
            for (size, reduction) in [(12, Reduction::Mean), (30, Reduction::Sum), (64, Reduction::Mean)] {
                let whole = climb(&program, size, reduction, &[], &spec(pus, pes_per_pu, 1 << 15)).unwrap();
                assert_eq!((whole.image().tiles, whole.image().machine.gradient_depth()), (1, 0), "{file}");
                let data = whole.compiled.used.data;
                let name = format!("{file}, batch {size} on {pus} x {pes_per_pu}");
                for depth in [data / 2, data / 5].map(|depth| (depth + 1).next_power_of_two() / 2) {
                    let Ok(climb) = climb(&program, size, reduction, &[], &spec(pus, pes_per_pu, depth.max(2))) else {
                        println!("{name}: {depth} words of data are too few");
                        continue;
                    };
                    let image = climb.image();
                    if image.tiles == 1 {
                        continue;
                    }
                    let trees = image.alu.iter().any(|i| i.tree && matches!(i.tiles, arch::isa::Tiles::Park(_)));
                    through_trees += usize::from(trees);
                    tiled += 1;
                    for stalls in [Stalls::none(), Stalls::seeded(3, 20, 20)] {
                        let fall = |fall| panic!("{name}, {} tiles: {fall}", image.tiles);
                        climb.run(Array::new(&image.machine), stalls).unwrap_or_else(fall);
                    }
                    for other in (1..40).step_by(13).filter_map(|number| climb.elsewhere(number)) {
                        let fall = |fall| panic!("{name}, {} tiles, elsewhere: {fall}", other.image().tiles);
                        other.run(Array::new(&image.machine), Stalls::none()).unwrap_or_else(fall);
                        elsewhere += 1;
                    }
                }
            }
        }
    }
    println!("{tiled} tiled images, {through_trees} with sums through trees, {elsewhere} elsewhere");
    assert!(tiled >= 40, "{tiled} images in tiles");
    assert!(through_trees >= 5, "{through_trees} images add up a batch in the trees");
    assert!(elsewhere >= 40, "{elsewhere} climbs with other placements");
}

/// The digits network in batches of 256: a batch takes its tiles, and one update.
#[test]
fn tiles_leave_the_update_out() {
    let set = [("l1", 65), ("l2", 25), ("l3", 10)];
    let spec = MachineSpec { stream_words: Some(16), ..spec(8, 8, 256) };
    let climb = climb(&program("backpropagation.t", &set), 256, Reduction::Mean, &[], &spec).unwrap();
    let image = climb.image();
    let (tiles, tile, step) = (f64::from(image.tiles), f64::from(image.tile_length), f64::from(image.step_length));
    let cycles = sim::pace::cycles_per_step(image, || Array::without_words(&image.machine)).unwrap();
    println!("{tiles} tiles of {tile} cycles, {} of update: {cycles} cycles", step - tile);
    assert!(tiles > 1.0 && tile < step, "{tiles} tiles of {tile} cycles");
    let load: u64 = image.step_in.iter().map(arch::image::Feed::beats).sum::<u64>() / u64::from(image.tiles);
    let longer = |length: f64| length.max(load as f64);
    // Loading hides behind computing, but for what a run of cycles in front of a tile may take where both are equally long.
    let expected = (tiles - 1.0) * longer(tile) + longer(step);
    assert!((cycles - expected).abs() <= 2.0 * tiles, "{cycles} cycles, expected {expected}");
}

/// Large batches on 8 x 8 PEs: cycles per sample in the steady state, as a whole and with less and less room for samples.
#[test]
fn tiles_cost_little() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let benchmarks = benchmarks::read(&std::fs::read_to_string(folder.join("benchmarks.toml")).unwrap()).unwrap();
    for (name, batch, depths, most) in [
        ("linear_784", 1024, &[1u32 << 14, 4096, 1024, 256][..], 1.03),
        ("backprop_64_128_10", 1024, &[1u32 << 14, 1024, 512, 256, 128][..], 1.12),
    ] {
        let benchmark = benchmarks.iter().find(|benchmark| benchmark.name == name).unwrap();
        let text = std::fs::read_to_string(folder.join(&benchmark.program)).unwrap();
        let mut whole = None;
        for &depth in depths {
            let run = Run { batch, data_depth: Some(depth), ..benchmark.runs[0].clone() };
            let prepared = Prepared::new(benchmark, &run, &text).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
            let (compiled, image) = (&prepared.climb.compiled, prepared.climb.image());
            let cycles = prepared.cycles_per_sample(|| Array::new(&image.machine)).unwrap();
            println!(
                "{name}, batch {batch}, {depth} words of data: {} tiles, {} words of gradient, {cycles:.2} cycles per sample",
                image.tiles, compiled.used.gradient
            );
            assert_eq!(image.tiles == 1, whole.is_none(), "{name}: {depth}");
            let whole = *whole.get_or_insert(cycles);
            assert!(
                cycles <= most * whole,
                "{name} in {} tiles: {cycles} cycles per sample, {whole} before",
                image.tiles
            );
        }
    }
}

/// Programs with temporary pads that do not hold the sums of their batches: these wait in the model pad, and their updates read them strip
/// by strip.
#[test]
fn updates_in_strips_give_the_same_words() {
    let (mut stripped, mut in_tiles) = (0, 0);
    let layers = program("backpropagation.t", &[("l1", 17), ("l2", 13), ("l3", 4)]);
    let line = program("linear.t", &[("m", 100)]);
    for (name, program) in [("layers", layers), ("line", line)] {
        for (pus, pes_per_pu) in [(1, 2), (2, 4)] {
            for (size, depth) in [(2, 1 << 15), (12, 64)] {
                let of = |temporary_depth| MachineSpec { temporary_depth, ..spec(pus, pes_per_pu, depth) };
                let Ok(roomy) = climb(&program, size, Reduction::Mean, &[], &of(None)) else { continue };
                let used = roomy.compiled.used.temporary;
                for least in [used / 2, used / 4].into_iter().filter(|&least| least > 1) {
                    let Ok(climb) = climb(&program, size, Reduction::Mean, &[], &of(Some(least))) else { continue };
                    if climb.compiled.steps.iter().all(|step| !step.what.contains(".strip")) {
                        continue;
                    }
                    let image = climb.image();
                    stripped += 1;
                    in_tiles += usize::from(image.tiles > 1);
                    let fall = |fall| panic!("{name}, batch {size} on {pus} x {pes_per_pu}, {least} of {used}: {fall}");
                    climb.run(Array::new(&image.machine), Stalls::seeded(3, 20, 20)).unwrap_or_else(fall);
                }
            }
        }
    }
    println!("{stripped} images with strips, {in_tiles} of them in tiles");
    assert!(stripped >= 5 && in_tiles >= 2, "{stripped} images with strips, {in_tiles} in tiles");
}

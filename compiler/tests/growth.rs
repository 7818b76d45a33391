//! The work of the compiler grows with the statements of a program, not with its weights; that of the grid shrinks with its PEs. Times are printed, sizes are asserted:
//! `cargo test -p compiler --test growth -- --nocapture`.

#![allow(clippy::print_stdout, reason = "times are shown, not asserted")]

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction, canonicalise};
use compiler::fixed::{self, Numbers};
use compiler::language::{self, Language};
use compiler::placed::Axis;
use compiler::ranges::Ranges;
use compiler::search::{Compiled, compile_fitted};
use std::path::Path;
use std::time::Instant;

/// Backpropagation with these layers, on a grid.
fn compiled(layers: [u32; 3], batch: u32, grid: (u32, u32)) -> Compiled {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs/backpropagation.t");
    let text = std::fs::read_to_string(path).expect("a program");
    let start = Instant::now();
    let names = ["l1", "l2", "l3"].map(str::to_owned);
    let set = names.into_iter().zip(layers.map(f64::from)).collect();
    let dialect = language::Options { set, ..language::Options::default() };
    let (program, _) = language::parse(Language::Tabla, &text, &dialect).expect("a good program");
    let batch = Batch { size: batch, reduction: Reduction::Mean };
    let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch };
    let canonical = canonicalise(&program, &options).expect("it can be batched");
    let ranges = Ranges::of_tensors(vec![Some((-1.0, 1.0)); canonical.tensors.len()]);
    let (lowered, _) = fixed::lower(&canonical, &ranges, &Numbers::of_width(16)).expect("numbers fit");
    let spec = MachineSpec { pus: Some(grid.0), pes_per_pu: Some(grid.1), ..MachineSpec::default() };
    let compiled = compile_fitted(&lowered, &spec).expect("it fits");
    let (instructions, cycles) = (compiled.image.alu.len(), compiled.image.step_length);
    let (took, start) = (start.elapsed(), Instant::now());
    compiler::image::verify(&compiled.image);
    println!(
        "{layers:?}, batch {}: {:.1} ms, {:.1} of them for the verifier; {instructions} instructions, {cycles} cycles",
        batch.size,
        took.as_secs_f64() * 1e3,
        start.elapsed().as_secs_f64() * 1e3
    );
    compiled
}

#[test]
fn ten_times_the_weights_take_no_more_instructions() {
    let small = compiled([784, 784, 10], 1, (16, 32));
    let large = compiled([7840, 784, 10], 1, (16, 32));
    let batch = compiled([784, 784, 10], 8, (16, 32));
    assert!(large.image.step_length > 9 * small.image.step_length, "it does ten times the work");
    for image in [&small.image, &large.image, &batch.image] {
        let most = [image.alu.len(), image.root.len(), image.moves.len(), image.load.len()].into_iter().max().unwrap();
        assert!(most <= 24, "{most} instructions");
    }
    assert!(large.image.alu.len() <= small.image.alu.len() + 2);
}

#[test]
fn the_runner_up_is_known() {
    let compiled = compiled([64, 128, 10], 1, (8, 8));
    let [chosen, others @ ..] = compiled.alternatives.as_slice() else { panic!("nothing was scheduled") };
    assert_eq!(chosen.placement, compiled.placement);
    assert_eq!(chosen.step, u64::from(compiled.image.step_length));
    assert!(!others.is_empty() && others.iter().all(|other| other.cycles() >= chosen.cycles()));
}

/// A Tile program on 8 x 8 PEs.
fn convolved(text: &str, shapes: &[(&str, &[u32])]) -> Compiled {
    let shapes: Vec<(String, Vec<u32>)> =
        shapes.iter().map(|&(name, shape)| (name.to_owned(), shape.to_vec())).collect();
    let dialect = language::Options { shapes, ..language::Options::default() };
    let (program, _) = language::parse(Language::Tile, text, &dialect).expect("a good program");
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let canonical = canonicalise(&program, &options).expect("it needs no batch");
    let ranges = Ranges::of_tensors(vec![Some((-1.0, 1.0)); canonical.tensors.len()]);
    let (lowered, _) = fixed::lower(&canonical, &ranges, &Numbers::of_width(16)).expect("numbers fit");
    let spec = MachineSpec { pus: Some(8), pes_per_pu: Some(8), ..MachineSpec::default() };
    let compiled = compile_fitted(&lowered, &spec).expect("it fits");
    let chosen = &compiled.alternatives[0];
    println!("{} cycles, {} transfers", chosen.step, chosen.load);
    compiled
}

/// The host sends each element to the PEs that need it. One PE would take a cycle per product: 776 * 9, 26 * 26 * 9.
#[test]
fn convolutions_lie_on_the_grid() {
    let line = "def f(I, K):\n  N, M = TensorDims(2)\n  n, m = TensorIndexes(2)\n  I.bind_dims(N)\n  K.bind_dims(M)\n  O = TensorOutput(N - M + 1)\n  O[n] += I[n + m] * K[m]\n  return O\n";
    let compiled = convolved(line, &[("I", &[784]), ("K", &[9])]);
    // 13 waves of 64 results, 9 products each; and the kernel's way into the second factor.
    assert!(compiled.image.step_length <= 13 * 9 + 20, "{} cycles", compiled.image.step_length);

    let plane = "def f(I, K):\n  X, Y, U, V = TensorDims(4)\n  x, y, u, v = TensorIndexes(4)\n  I.bind_dims(X, Y)\n  K.bind_dims(U, V)\n  O = TensorOutput(X - U + 1, Y - V + 1)\n  O[x, y] += I[x + u, y + v] * K[u, v]\n  return O\n";
    let compiled = convolved(plane, &[("I", &[28, 28]), ("K", &[3, 3])]);
    // Where a PE has one of 26 rows, computing and sending take 401 cycles; the input in fewer transfers is worth more beats.
    assert!(compiled.alternatives[0].cycles() <= 401, "{} cycles", compiled.alternatives[0].cycles());
    let input = compiled.placement.iter().find(|(name, _)| name == "I.at").expect("a window");
    assert!(input.1.iter().any(|axis| *axis != Axis::Local), "{:?}", input.1);

    // Where one PE holds everything, a window is no gain: the input comes in once.
    let small = convolved(plane, &[("I", &[3, 3]), ("K", &[3, 3])]);
    assert!(small.placement.iter().all(|(name, _)| name != "I.at"), "{:?}", small.placement);
}

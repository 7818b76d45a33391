//! Networks of many layers: each lies as suits it, no word depends on that, and the cycles stay near those of the products alone.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::language::{self, Language};
use compiler::tensor::Role;
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};
use sim::pace::cycles_per_step;

/// Dense layers of these widths with rectifiers between them, as Tile, and the shapes of its inputs.
fn dense(widths: &[u32]) -> (String, Vec<(String, Vec<u32>)>) {
    let (mut inputs, mut body) = (vec![("X".to_owned(), vec![widths[0]])], String::new());
    let mut from = "X".to_owned();
    for (n, pair) in widths.windows(2).enumerate() {
        let (read, own) = (pair[0], pair[1]);
        inputs.extend([(format!("W{n}"), vec![own, read]), (format!("B{n}"), vec![own])]);
        body += &format!("  A{n} = TensorOutput({own})\n  A{n}[k] += {from}[c] * W{n}[k, c]\n");
        body += &format!("  T{n} = max(A{n} + B{n}, 0.0)\n");
        from = format!("T{n}");
    }
    let names: Vec<&str> = inputs.iter().map(|(name, _)| name.as_str()).collect();
    let text = format!("def net({}):\n  k, c = TensorIndexes(2)\n{body}  return {from}\n", names.join(", "));
    (text, inputs)
}

/// Cycles of a step on a grid, on which the words are right.
fn cycles(widths: &[u32], pus: u32, pes_per_pu: u32) -> f64 {
    let (text, shapes) = dense(widths);
    let dialect = language::Options { shapes, ..language::Options::default() };
    let (mut program, _) = language::parse(Language::Tile, &text, &dialect).unwrap();
    let mut seed = 1u32;
    let mut value = |size: f64| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (f64::from(seed >> 8) / f64::from(1 << 23) - 1.0) * size
    };
    let (mut model, mut inputs) = (NamedValues::new(), NamedValues::new());
    for tensor in program.tensors.iter_mut().filter(|tensor| tensor.role == Role::Input) {
        let size = if tensor.shape.len() == 2 { (3.0 / f64::from(tensor.shape[1])).sqrt() } else { 0.5 };
        let values: Vec<f64> = (0..tensor.shape.iter().product()).map(|_| value(size)).collect();
        if tensor.name == "X" {
            inputs.insert(tensor.name.clone(), values);
        } else {
            // Weights stay in the grid.
            tensor.role = Role::State;
            model.insert(tensor.name.clone(), values);
        }
    }
    let results = program.tensors.iter().filter(|tensor| tensor.role == Role::Output);
    let names = results.map(|tensor| tensor.name.clone()).collect();
    let options = Options {
        keep: Keep::Prediction { names, states: Vec::new() },
        batch: Batch { size: 1, reduction: Reduction::Mean },
    };
    let spec = MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        stream_words: Some(if (pus * pes_per_pu).is_multiple_of(64) { 16 } else { 1 }),
        ..MachineSpec::default()
    };
    let climb = Climb::new(&program, &options, &model, &[inputs.clone(), inputs], &spec).unwrap();
    let machine = &climb.image().machine;
    let words = climb.run(Array::new(machine), Stalls::none());
    assert!(words.unwrap_or_else(|fall| panic!("{widths:?} on {pus} x {pes_per_pu}: {fall}")).words > 0);
    cycles_per_step(climb.image(), || Array::without_words(machine)).unwrap()
}

/// Products of a layer of 64 units on 64 inputs, over the PEs.
fn products(layers: u32, pes: u32) -> f64 {
    f64::from(layers * 64 * 64) / f64::from(pes)
}

#[test]
fn a_chain_of_dense_layers_stays_near_its_products() {
    for layers in [2, 4, 8, 9, 16, 32] {
        let cycles = cycles(&vec![64; layers as usize + 1], 8, 8);
        let times = cycles / products(layers, 64);
        assert!(
            times < 1.8 && (layers < 9 || times < 1.6),
            "{layers} layers: {cycles} cycles, {times} times the products"
        );
    }
    // One PE has 8 products of a layer; the ways through the trees are longer than that.
    let cycles = cycles(&[64; 17], 16, 32);
    assert!(cycles / products(16, 512) < 9.0, "{cycles} cycles");
}

/// Extents that fill neither rows nor columns, and grids on which nothing is even.
#[test]
fn layers_lie_on_any_grid() {
    for (pus, pes_per_pu) in [(3, 5), (4, 16), (16, 4), (1, 8), (8, 1)] {
        cycles(&[20, 33, 7, 7, 48, 5, 64, 12, 9, 17, 31], pus, pes_per_pu);
    }
}

#[test]
fn an_autoencoder_has_its_narrow_layer_where_it_fits() {
    let widths = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640];
    let macs: u32 = widths.windows(2).map(|pair| pair[0] * pair[1]).sum();
    for (pus, pes_per_pu, most) in [(8, 8, 1.3), (16, 32, 3.0)] {
        let cycles = cycles(&widths, pus, pes_per_pu);
        let times = cycles * f64::from(pus * pes_per_pu) / f64::from(macs);
        assert!(times < most, "{pus} x {pes_per_pu}: {cycles} cycles, {times} times the products");
    }
}

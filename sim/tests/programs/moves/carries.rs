//! Layers of which the second reads at sums of indices what the first computes: wherever the first lies, on all shapes of grids, the array has the
//! words of fixed point.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use compiler::placed::Axis;
use compiler::tensor::Role;
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};

/// A function that climbs on a grid, with made-up values between -1 and 1.
fn climb(text: &str, pus: u32, pes_per_pu: u32) -> Climb {
    let (program, _) = language::parse(Language::TensorComprehensions, text, &language::Options::default()).unwrap();
    let value = |n: u32| f64::from((n * 7919 + 13) % 257) / 128.0 - 1.0;
    let inputs = program.tensors.iter().filter(|tensor| tensor.role == Role::Input);
    let values: NamedValues =
        inputs.map(|tensor| (tensor.name.clone(), (0..tensor.shape.iter().product()).map(value).collect())).collect();
    let results = program.tensors.iter().filter(|tensor| tensor.role == Role::Output);
    let names = results.map(|tensor| tensor.name.clone()).collect();
    let options = Options { keep: Keep::Prediction { names, states: Vec::new() }, batch: Batch::SINGLE };
    let depth = Some(1 << 12);
    let spec = MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        model_depth: depth,
        data_depth: depth,
        temporary_depth: depth,
        ..MachineSpec::default()
    };
    Climb::new(&program, &options, &NamedValues::new(), &[values.clone(), values], &spec).unwrap()
}

/// The axis from which some copy is carried into the PEs.
fn carried(climb: &Climb) -> Vec<Axis> {
    let placement = &climb.compiled.placement;
    let axes = |name: &str| placement.iter().find(|(other, _)| other == name).map(|(_, axes)| axes);
    let copies = placement.iter().filter_map(|(name, copy)| Some((axes(name.strip_suffix(".copy")?)?, copy)));
    copies.flat_map(|(from, to)| from.iter().zip(to).filter(|(from, to)| from != to).map(|(from, _)| *from)).collect()
}

#[test]
fn layers_have_the_same_words_wherever_the_first_lies() {
    // Lengths that grids divide and lengths that they do not; a strided reading whose writer does not end at a multiple of the stride.
    let layers = "def f(float(13,9) X, float(3,3,2) U, float(2,3,2,2) V) -> (Y) {
        T(c,y,x) +=! X(y+i,x+j) * U(c,i,j)  Y(o,y,x) +=! T(c,y+i,x+j) * V(o,c,i,j) }";
    let pooled = "def f(float(12,12) X, float(2,3,3) U, float(3,2,2,2) V) -> (Y) {
        T(c,y,x) +=! X(y+i,x+j) * U(c,i,j)  P(c,y,x) max=! T(c,3*y+i,3*x+j) where i in 0:3, j in 0:3, y in 0:3, x in 0:3
        Y(o,y,x) +=! P(c,y+i,x+j) * V(o,c,i,j) }";
    let chain = "def f(float(40) X, float(40) W, float(3) U) -> (Y) { T(i) = X(i) * W(i)  S(i) +=! T(i+k) * U(k)  Y(i) +=! S(2*i+k) * U(k) }";
    let (mut rows, mut columns) = (0, 0);
    for (text, grids) in
        [(layers, [(2, 4), (3, 3), (8, 2)]), (pooled, [(2, 2), (4, 3), (3, 8)]), (chain, [(2, 4), (4, 4), (5, 3)])]
    {
        for (pus, pes_per_pu) in grids {
            let chosen = climb(text, pus, pes_per_pu);
            let others = (0..60).filter_map(|number| chosen.elsewhere(number));
            let mut seen: Vec<Vec<(String, Vec<Axis>)>> = Vec::new();
            for (number, other) in std::iter::once(chosen.clone()).chain(others).enumerate() {
                if seen.contains(&other.compiled.placement) {
                    continue;
                }
                seen.push(other.compiled.placement.clone());
                let from = carried(&other);
                rows += usize::from(from.contains(&Axis::Row));
                columns += usize::from(from.contains(&Axis::Column));
                let fall = |fall| panic!("{pus} x {pes_per_pu}, {number}: {fall}\n{text}");
                other.run(Array::new(&other.image().machine), Stalls::none()).unwrap_or_else(fall);
            }
        }
    }
    println!("{rows} from rows, {columns} from columns");
    assert!(rows >= 9 && columns >= 9, "{rows} programs carry from rows, {columns} from columns");
}

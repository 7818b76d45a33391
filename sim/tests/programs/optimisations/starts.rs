//! Biases where sums start: the same words on every grid, proven, and as near to real numbers as one rounding.

use super::grid;
use crate::made_up::values;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::optimisations::Disabled;
use compiler::tensor::Program;
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::Climb;

/// Two layers, the first in two parts, of which one begins with another product, the second subtracted; a convolution in two parts.
const TEXT: &str = "input x[20]
input p[10]
state w[24][20]
state b[24]
state v[7][24]
state c[3][7]
state f[4][3]
state d[4]
output y[7]
output o[8][4]
temporary s[24]
temporary h[24]
temporary t[7]
temporary u[4][8]

s[n] += x[k] * w[n][k]  for n in 0..16  over k in 0..20
s[n] += x[k] * w[n][k]  for n in 16..24  over k in 3..20
h[n] = (b[n] + s[n]) max 0  for n in 0..24
t[n] += h[k] * v[n][k]  for n in 0..7  over k in 0..24
y[n] = c[0][n] - 0.5 * t[n]  for n in 0..7
u[q][i] += p[i + k] * f[q][k]  for q in 0..4, i in 0..7  over k in 0..3
u[q][7] += p[k + 7] * f[q][k]  for q in 0..4  over k in 1..3
o[i][q] = u[q][i] + d[q]  for i in 0..8, q in 0..4
name y = y
name o = o
";

#[test]
fn biases_are_starts_on_every_grid() {
    let program: Program = TEXT.parse().unwrap();
    let (model, steps) = values(&program, 1, 2);
    let names = vec!["y".to_owned(), "o".to_owned()];
    let options = Options { keep: Keep::Prediction { names, states: Vec::new() }, batch: Batch::SINGLE };
    let mut in_one_lane = 0;
    for (pus, pes_per_pu) in [(1, 1), (1, 4), (4, 1), (2, 2), (2, 8), (8, 2), (4, 4), (8, 8)] {
        for column_buses in [false, true] {
            let spec = MachineSpec { column_buses: Some(column_buses), ..grid(pus, pes_per_pu) };
            let climb = Climb::new_without(&program, &options, &model, &steps, &spec, Disabled::NOTHING).unwrap();
            let name = format!("{pus} x {pes_per_pu}");
            // Nothing but four sums and the positive part of one.
            assert!(climb.distance < 1.0, "{name}: {} last places", climb.distance);
            let run = climb.run(Array::new(&climb.image().machine), Stalls::none());
            run.unwrap_or_else(|fall| panic!("{name}: {fall}"));
            climb.prove().unwrap_or_else(|why| panic!("{name}: {why}"));
            in_one_lane += usize::from(climb.compiled.steps.iter().any(|step| step.what.starts_with("first.")));
        }
    }
    assert!(in_one_lane > 4, "{in_one_lane}");
}

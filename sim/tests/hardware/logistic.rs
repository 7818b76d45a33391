//! A small logistic regression, for tests of what stands between the host and the grid.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use sim::ladder::{Climb, NamedValues};

const PROGRAM: &str =
    "mu = 0.25; m = 12; model_input x[m]; model_output y; model w[m]; gradient g[m] -> w; iterator i[0:m];
h = sum[i](w[i] * x[i]); h = sigmoid(h); d = h - y; g[i] = d * x[i];";

/// All its names come out, sample by sample.
pub(crate) const ALL: Options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };

/// Its run of so many steps on a machine.
pub(crate) fn climb(spec: &MachineSpec, steps: usize, options: &Options) -> Climb {
    let (program, _) = language::parse(Language::Tabla, PROGRAM, &language::Options::default()).unwrap();
    let wave = |n: usize| (0..12).map(|i| f64::from((i * n + 3 * n) as u32 % 17) / 8.0 - 1.0).collect::<Vec<_>>();
    let size = options.batch.size as usize;
    let samples = |n: usize| n * size..(n + 1) * size;
    let x = |n: usize| samples(n).flat_map(wave).collect();
    let y = |n: usize| samples(n).map(|n| f64::from(n as u32 % 2)).collect();
    let step = |n: usize| NamedValues::from([("x".to_owned(), x(n)), ("y".to_owned(), y(n))]);
    let model = NamedValues::from([("w".to_owned(), wave(5))]);
    let steps: Vec<NamedValues> = (0..steps).map(step).collect();
    Climb::new(&program, options, &model, &steps, spec).unwrap()
}

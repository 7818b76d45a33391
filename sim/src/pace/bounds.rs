//! Bounds: what a step asks of each resource of a grid, and the cycles in which the grid has that to give.
//!
//! | resource | counted | per cycle |
//! |---|---|---|
//! | input words | elements of inputs that are read, each once | `stream_words` |
//! | output words | elements of outputs | `output_words` |
//! | multiply-adds | products of two words, terms of sums | PEs; without a weight also the scalar unit |
//! | divisions | quotients | a divider per PU and one behind the global tree, `2 * word + 1` cycles each |
//! | functions | values of function tables | PUs: a beat of the root stream is for all row roots or for the global one |
//! | comparisons | values under a maximum or minimum, differences compared with 0 | as multiply-adds |
//!
//! An engine does a multiply-add or a comparison in a cycle, not both, unless what it compares is the product or the sum itself. So the larger of
//! the two has the cycles of both.
//!
//! Placement, latency and what is sent twice are not in it: no schedule of the program on a grid of this size is shorter.

use super::reads::elements_read;
use arch::{Machine, timing};
use compiler::fixed::{Finish, Kind, Operand, Operation, Program, Role};
use compiler::tensor::{Iterator, TensorId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One figure for each resource of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PerResource {
    /// Words that come in.
    pub input_words: f64,
    /// Words that go out.
    pub output_words: f64,
    /// Products of two words, and terms of sums.
    pub multiply_adds: f64,
    /// Quotients.
    pub divisions: f64,
    /// Values of functions.
    pub functions: f64,
    /// Values that are compared with each other or with 0.
    pub comparisons: f64,
}

impl PerResource {
    /// Each with its name.
    pub fn named(&self) -> [(&'static str, f64); 6] {
        let PerResource { input_words, output_words, multiply_adds, divisions, functions, comparisons } = *self;
        [
            ("input words", input_words),
            ("output words", output_words),
            ("multiply-adds", multiply_adds),
            ("divisions", divisions),
            ("functions", functions),
            ("comparisons", comparisons),
        ]
    }

    /// The resource of which there is most, and how much; nothing where there is none of any.
    fn largest(&self) -> (&'static str, f64) {
        let largest = self.named().into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        largest.filter(|(_, cycles)| *cycles > 0.0).unwrap_or(("nothing", 0.0))
    }

    fn and(self, other: PerResource) -> PerResource {
        PerResource {
            input_words: self.input_words + other.input_words,
            output_words: self.output_words + other.output_words,
            multiply_adds: self.multiply_adds + other.multiply_adds,
            divisions: self.divisions + other.divisions,
            functions: self.functions + other.functions,
            comparisons: self.comparisons + other.comparisons,
        }
    }

    fn over(self, samples: f64) -> PerResource {
        PerResource {
            input_words: self.input_words / samples,
            output_words: self.output_words / samples,
            multiply_adds: self.multiply_adds / samples,
            divisions: self.divisions / samples,
            functions: self.functions / samples,
            comparisons: self.comparisons / samples,
        }
    }
}

/// What no grid of a size can beat.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Bounds {
    /// Cycles that a sample takes at least: the largest of `bounds`.
    pub bound: f64,
    /// The resource whose bound that is; `nothing` where a sample asks for nothing.
    pub bound_by: &'static str,
    /// Cycles that a sample takes at least, by resource.
    #[serde(rename = "bounds")]
    pub by_resource: PerResource,
    /// Words and operations of a sample.
    pub work: PerResource,
}

impl Bounds {
    /// The bounds of a step that is a batch of so many samples.
    pub fn of(program: &Program, machine: &Machine, batch: u32) -> Bounds {
        let step = Step::of(program);
        let samples = f64::from(batch);
        let by_resource = step.cycles(machine).over(samples);
        let (bound_by, bound) = by_resource.largest();
        Bounds { bound, bound_by, by_resource, work: step.work().over(samples) }
    }

    /// Those of two programs, one after the other: each waits for its own resource, and that which is asked for most gives the name.
    pub(super) fn and(&self, other: &Bounds) -> Bounds {
        let by_resource = self.by_resource.and(other.by_resource);
        let (bound_by, _) = by_resource.largest();
        Bounds { bound: self.bound + other.bound, bound_by, by_resource, work: self.work.and(other.work) }
    }
}

/// Cycles that some of the operations of a step take at least, whatever comes in and goes out; a PE writes one result per cycle.
pub fn bound_of(program: &Program, machine: &Machine, wanted: impl Fn(&Operation) -> bool) -> f64 {
    let mut step = Step::default();
    let mut results = 0;
    for operation in program.operations.iter().filter(|operation| wanted(operation)) {
        step.add(program, operation);
        results += points(&operation.iterators[..operation.free]);
    }
    let results = results as f64 / f64::from(machine.pes());
    step.cycles(machine).named().into_iter().fold(results, |most, (_, cycles)| most.max(cycles))
}

/// Operations that engines can do, one per cycle.
#[derive(Clone, Copy, Default)]
struct Engines {
    /// On weights or constants, which only PEs hold.
    kept: u64,
    /// All of them.
    all: u64,
}

impl Engines {
    fn add(&mut self, operations: u64, kept: bool) {
        self.kept += if kept { operations } else { 0 };
        self.all += operations;
    }

    fn cycles(self, machine: &Machine) -> f64 {
        let pes = f64::from(machine.pes());
        (self.kept as f64 / pes).max(self.all as f64 / (pes + f64::from(machine.scalar())))
    }
}

/// What a step asks for.
#[derive(Default)]
struct Step {
    input_words: u64,
    output_words: u64,
    multiply_adds: Engines,
    divisions: u64,
    functions: u64,
    comparisons: Engines,
    /// Multiply-adds and comparisons, one of them in a cycle.
    engines: Engines,
}

impl Step {
    fn of(program: &Program) -> Step {
        let mut step = Step::default();
        for (id, tensor) in program.tensors.iter().enumerate() {
            match tensor.role {
                Role::Input => step.input_words += elements_read(program, TensorId(id)),
                Role::Output => step.output_words += tensor.shape.iter().map(|&n| u64::from(n)).product::<u64>(),
                Role::State | Role::Parameter(_) | Role::Temporary => {}
            }
        }
        program.operations.iter().for_each(|operation| step.add(program, operation));
        step
    }

    fn add(&mut self, program: &Program, operation: &Operation) {
        let kept = program.touches_kept(operation);
        let (multiply_adds, comparisons) = (multiply_adds(operation), comparisons(operation));
        self.multiply_adds.add(multiply_adds, kept);
        self.comparisons.add(comparisons, kept);
        // A product is compared, and the sign of a sum looked at, in the beat that makes it.
        self.engines.add(multiply_adds.max(comparisons), kept);
        match operation.kind {
            Kind::Divide { .. } => self.divisions += points(&operation.iterators),
            Kind::Function { .. } => self.functions += points(&operation.iterators),
            Kind::MultiplyAdd { .. } | Kind::Product { .. } => {}
        }
    }

    fn work(&self) -> PerResource {
        PerResource {
            input_words: self.input_words as f64,
            output_words: self.output_words as f64,
            multiply_adds: self.multiply_adds.all as f64,
            divisions: self.divisions as f64,
            functions: self.functions as f64,
            comparisons: self.comparisons.all as f64,
        }
    }

    fn cycles(&self, machine: &Machine) -> PerResource {
        let rows = f64::from(machine.pus());
        let (multiply_adds, comparisons) = (self.multiply_adds.cycles(machine), self.comparisons.cycles(machine));
        let both = self.engines.cycles(machine);
        let (multiply_adds, comparisons) =
            if comparisons > multiply_adds { (multiply_adds, both) } else { (both, comparisons) };
        PerResource {
            input_words: self.input_words as f64 / f64::from(machine.stream_words()),
            output_words: self.output_words as f64 / f64::from(machine.output_words()),
            multiply_adds,
            divisions: self.divisions as f64 * timing::division_interval(machine) as f64 / (rows + 1.0),
            functions: self.functions as f64 / rows,
            comparisons,
        }
    }
}

fn points(iterators: &[Iterator]) -> u64 {
    iterators.iter().map(Iterator::extent).product()
}

/// Multiply-adds of an operation: products of two words, and terms of a sum. A factor that is a constant makes no product.
pub fn multiply_adds(operation: &Operation) -> u64 {
    let counts = match &operation.kind {
        Kind::MultiplyAdd { product: Some((a, b)), square, combine, .. } => {
            let two_words = matches!((a, b), (Operand::Read { .. }, Operand::Read { .. }));
            two_words || *square || operation.free < operation.iterators.len() && !combine.compares()
        }
        Kind::Product { .. } => true,
        Kind::MultiplyAdd { product: None, .. } | Kind::Divide { .. } | Kind::Function { .. } => false,
    };
    if counts { points(&operation.iterators) } else { 0 }
}

/// Values that an operation compares with each other, or with 0.
fn comparisons(operation: &Operation) -> u64 {
    match &operation.kind {
        Kind::MultiplyAdd { combine, .. } if combine.compares() => points(&operation.iterators),
        Kind::MultiplyAdd { finish: Finish::Negative, .. } => points(&operation.iterators[..operation.free]),
        Kind::MultiplyAdd { .. } | Kind::Product { .. } | Kind::Divide { .. } | Kind::Function { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::machine::MachineSpec;

    /// 2 x 4 PEs of 16 bits, 4 words of input per cycle.
    fn machine(scalar: bool) -> Machine {
        let (pus, pes_per_pu, stream_words) = (Some(2), Some(4), Some(4));
        let spec = MachineSpec { pus, pes_per_pu, stream_words, scalar: Some(scalar), ..MachineSpec::default() };
        Machine::try_from(spec).unwrap()
    }

    fn bounds(tensors: &str, operations: &str, machine: &Machine, batch: u32) -> Bounds {
        let text = format!("word 16\naccumulator 48\n{tensors}\n{operations}\n");
        Bounds::of(&text.parse().unwrap_or_else(|error| panic!("{error:?}\n{text}")), machine, batch)
    }

    /// By hand: what each operation asks for, over what 2 x 4 PEs have of it per cycle.
    #[test]
    fn each_resource_has_its_bound() {
        let tensors = "input x[40]: q8\ninput y[40]: q8\ninput unread[9]: q8\ntemporary h[40]: q8\ntemporary m: q8\n\
                       temporary s[40]: q15\ntemporary n[40]: q0\ntemporary d[40]: q0\noutput o[10]: q0\n\
                       table sigmoid#0: q8 -> q15, 2^4 segments at 0";
        let operations = "h[i] = round(+ x[i] * y[i]) >> 8  for i in 0..40\n\
                          m = round(max x[i] * 1:q0)  over i in 0..40\n\
                          s[i] = sigmoid#0(h[i])  for i in 0..40\n\
                          n[i] = negative(x[i] - m * 1:q0)  for i in 0..40\n\
                          d[i] = quotient(x[i] / y[i])  for i in 0..40\n\
                          o[i] = round(+ n[4*i + k] * 1:q0)  for i in 0..10  over k in 0..4";
        let found = bounds(tensors, operations, &machine(false), 1);
        let work = PerResource {
            input_words: 80.0,
            output_words: 10.0,
            multiply_adds: 40.0 + 40.0,
            divisions: 40.0,
            functions: 40.0,
            comparisons: 40.0 + 40.0,
        };
        assert_eq!(found.work, work);
        let cycles = PerResource {
            input_words: 80.0 / 4.0,
            output_words: 10.0,
            // With the comparisons, which are as many.
            multiply_adds: 160.0 / 8.0,
            // Two dividers at the rows and one behind them; 33 cycles per quotient.
            divisions: 40.0 * 33.0 / 3.0,
            functions: 40.0 / 2.0,
            comparisons: 80.0 / 8.0,
        };
        assert_eq!(found.by_resource, cycles);
        assert_eq!((found.bound, found.bound_by), (440.0, "divisions"));
        let two = MachineSpec { output_words: Some(2), ..machine(false).into() };
        let found = bounds(tensors, operations, &Machine::try_from(two).unwrap(), 1);
        assert_eq!(found.by_resource, PerResource { output_words: 10.0 / 2.0, ..cycles });
        // The same as a batch of 4 samples.
        let batch = bounds(tensors, operations, &machine(false), 4);
        assert_eq!((batch.bound, batch.work.functions), (110.0, 10.0));
    }

    /// The scalar unit takes operations off the PEs, if they touch no weight.
    #[test]
    fn the_scalar_unit_has_no_weights() {
        let tensors = "input x[36]: q8\nstate w[36]: q8\ntemporary h: q8\noutput y: q8";
        let of_words = "y = round(+ x[i] * x[i]) >> 8  over i in 0..36";
        let multiply_adds =
            |operations: &str, scalar| bounds(tensors, operations, &machine(scalar), 1).by_resource.multiply_adds;
        assert_eq!((multiply_adds(of_words, false), multiply_adds(of_words, true)), (4.5, 4.0));
        let of_weights = "y = round(+ w[i] * x[i]) >> 8  over i in 0..36";
        assert_eq!((multiply_adds(of_weights, false), multiply_adds(of_weights, true)), (4.5, 4.5));
        let both = "h = round(+ w[i] * x[i]) >> 8  over i in 0..36\ny = round(+ x[i] * x[i]) >> 8  over i in 0..36";
        assert_eq!((multiply_adds(both, false), multiply_adds(both, true)), (9.0, 8.0));
    }
}

//! A grid with a fault that no image can have: steps compute on the bank that is being filled.

use super::Array;
use super::datapath::{self, Datapath};
use super::sequencer::Beats;
use super::values::Values;
use super::watch::PuView;
use arch::machine::Machine;
use std::sync::Arc;

#[derive(Debug)]
struct Swapped(Box<dyn Datapath>);

impl Array {
    /// A grid whose banks are swapped.
    pub(crate) fn with_swapped_banks<V: Values>(machine: &Machine, values: V) -> Array {
        Array::with(machine, Box::new(Swapped(datapath::of(machine, values))))
    }
}

impl Datapath for Swapped {
    fn cycle(&mut self, mut beats: Arc<Beats>, input: Option<&[i64]>, popped: bool) -> Option<Arc<Beats>> {
        let Beats { compute_bank, .. } = Arc::make_mut(&mut beats);
        *compute_bank = 1 - *compute_bank;
        self.0.cycle(beats, input, popped)
    }

    fn ends_beat(&self) -> bool {
        self.0.ends_beat()
    }

    fn output(&self) -> Vec<i64> {
        self.0.output()
    }

    fn write_table(&mut self, entry: u32, chunk: u32, data: u32) {
        self.0.write_table(entry, chunk, data);
    }

    fn saturated(&self) -> bool {
        self.0.saturated()
    }

    fn clear_saturated(&mut self) {
        self.0.clear_saturated();
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn parked(&mut self, addresses: u32) -> Vec<i128> {
        self.0.parked(addresses)
    }

    fn put_back(&mut self, sums: &[i128]) {
        self.0.put_back(sums);
    }

    fn watch(&mut self, pu: usize) {
        self.0.watch(pu);
    }

    fn observe(&self, view: &mut PuView) {
        self.0.observe(view);
    }
}

//! Signals whose width is known only when the generator runs.
//!
//! rust-hdl's own `Signal<D, Bits<N>>` has its width in the type; here the width comes from a [`arch::Machine`]. Everything
//! in rust-hdl (checks, simulator, waveforms, Verilog) talks to the traits `Atom`, `Block` and `Logic`, so a signal
//! that implements these takes part like a stock one. Single bits stay stock: `Signal<D, Bit>`.
//!
//! | type | in Verilog |
//! |---|---|
//! | [`Wide`] | `wire [w-1:0]` or `wire signed [w-1:0]` |
//! | [`Number`] | `localparam [w-1:0]` |

use rust_hdl_core::prelude::*;
use rust_hdl_core::signal::get_signal_id;
use std::marker::PhantomData;

/// Most bits of one signal: values are held as `i128`, and an unsigned one must stay positive.
pub(crate) const MOST_BITS: u32 = 127;

/// A word of `width` bits.
pub(crate) struct Wide<D: Direction> {
    /// Value to drive; brought into range when it is latched.
    pub(crate) next: i128,
    val: i128,
    changed: bool,
    claimed: bool,
    id: usize,
    width: u32,
    signed: bool,
    direction: PhantomData<D>,
}

impl<D: Direction> Wide<D> {
    /// An unsigned word.
    pub(crate) fn new(width: u32) -> Self {
        assert!((1..=MOST_BITS).contains(&width), "a signal of {width} bits");
        let id = get_signal_id();
        Wide { next: 0, val: 0, changed: false, claimed: false, id, width, signed: false, direction: PhantomData }
    }

    /// A word in two's complement.
    pub(crate) fn signed(width: u32) -> Self {
        Wide { signed: true, ..Wide::new(width) }
    }

    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// What a reader sees: an input its latched value, everything else what drives it.
    pub(crate) fn val(&self) -> i128 {
        if D::KIND == AtomKind::InputParameter { self.val } else { fit(self.next, self.width, self.signed) }
    }
}

/// The value as a word of `width` bits holds it.
pub(crate) fn fit(value: i128, width: u32, signed: bool) -> i128 {
    if signed { arch::number::wrap(value, width) } else { value & ((1 << width) - 1) }
}

/// `value.get_bit(i)`, which rust-hdl prints as `value[i]`.
pub(crate) trait GetBit {
    fn get_bit(&self, index: usize) -> bool;
}

impl GetBit for i128 {
    fn get_bit(&self, index: usize) -> bool {
        self >> index & 1 == 1
    }
}

fn waveform(value: i128, width: u32) -> VCDValue {
    let bit = |index: u32| match VCDValue::from(value.get_bit(index as usize)) {
        VCDValue::Single(bit) => bit,
        _ => panic!("a bool is one bit"),
    };
    if width == 1 { VCDValue::Single(bit(0)) } else { VCDValue::Vector((0..width).rev().map(bit).collect()) }
}

fn description(width: u32, signed: bool) -> TypeDescriptor {
    let bits = width as usize;
    if signed {
        TypeDescriptor { name: format!("Signed::<{bits}>"), kind: TypeKind::Signed(bits) }
    } else {
        TypeDescriptor { name: format!("Bits::<{bits}>"), kind: TypeKind::Bits(bits) }
    }
}

impl<D: Direction> Atom for Wide<D> {
    fn bits(&self) -> usize {
        self.width as usize
    }
    fn connected(&self) -> bool {
        self.claimed
    }
    fn changed(&self) -> bool {
        self.changed
    }
    fn kind(&self) -> AtomKind {
        D::KIND
    }
    fn descriptor(&self) -> TypeDescriptor {
        description(self.width, self.signed)
    }
    fn vcd(&self) -> VCDValue {
        waveform(self.val, self.width)
    }
    fn id(&self) -> usize {
        self.id
    }
    fn verilog(&self) -> VerilogLiteral {
        (fit(self.val, self.width, false) as u128).into()
    }
    fn constraints(&self) -> Vec<PinConstraint> {
        Vec::new()
    }
}

impl<D: Direction> Logic for Wide<D> {
    fn update(&mut self) {}
    fn connect(&mut self) {
        self.claimed = true;
    }
}

impl<D: Direction> Block for Wide<D> {
    fn connect_all(&mut self) {}
    fn update_all(&mut self) {
        let next = fit(self.next, self.width, self.signed);
        self.changed = self.val != next;
        self.val = next;
    }
    fn has_changed(&self) -> bool {
        self.changed
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_atom(name, self);
    }
}

/// A constant with a width: comparisons and sums with a bare literal would be 32 bits wide in Verilog.
pub(crate) struct Number {
    value: i128,
    width: u32,
    id: usize,
}

impl Number {
    pub(crate) fn new(value: u32, width: u32) -> Self {
        assert!(width <= MOST_BITS && i128::from(value) >> width == 0, "{value} in {width} bits");
        Number { value: value.into(), width, id: get_signal_id() }
    }

    /// All `width` bits set.
    pub(crate) fn ones(width: u32) -> Self {
        Number { value: fit(-1, width, false), width, id: get_signal_id() }
    }

    pub(crate) fn val(&self) -> i128 {
        self.value
    }

    pub(crate) fn width(&self) -> u32 {
        self.width
    }
}

impl Atom for Number {
    fn bits(&self) -> usize {
        self.width as usize
    }
    fn connected(&self) -> bool {
        true
    }
    fn changed(&self) -> bool {
        false
    }
    fn kind(&self) -> AtomKind {
        AtomKind::Constant
    }
    fn descriptor(&self) -> TypeDescriptor {
        description(self.width, false)
    }
    fn vcd(&self) -> VCDValue {
        waveform(self.value, self.width)
    }
    fn id(&self) -> usize {
        self.id
    }
    fn verilog(&self) -> VerilogLiteral {
        (self.value as u128).into()
    }
    fn constraints(&self) -> Vec<PinConstraint> {
        Vec::new()
    }
}

impl Logic for Number {
    fn update(&mut self) {}
}

impl Block for Number {
    fn connect_all(&mut self) {}
    fn update_all(&mut self) {}
    fn has_changed(&self) -> bool {
        false
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_atom(name, self);
    }
}

/// Outputs follow the inputs.
#[cfg(test)]
pub(crate) fn settled<B: Block>(block: &mut B) {
    loop {
        block.update_all();
        if !block.has_changed() {
            break;
        }
    }
}

/// One clock edge after the inputs have settled.
#[cfg(test)]
pub(crate) fn clocked<B: Block>(block: &mut B, clock: impl Fn(&mut B) -> &mut Signal<In, Clock>) {
    for level in [false, true] {
        clock(block).next.clk = level;
        settled(block);
    }
}

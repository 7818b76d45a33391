//! Wiring of structural blocks: who drives whom, written once.
//!
//!     pes[c].control = pipeline.control;       // a bundle: all its fields
//!     pes[c].admitted = mask.bit(c);           // one bit of a vector
//!
//! rust-hdl wants three descriptions of a block: values for its simulator (`update`), which signals are driven
//! (`connect`) and Verilog (`hdl`). `#[hdl_gen]` makes all three of one function body, but knows neither `a[i].b[j]` nor
//! bundles. `#[block(wires)]` fills that gap for blocks that only wire: one list, walked in three passes. [`wires!`] is for wires that several blocks
//! have.

use crate::rtl::signal::{GetBit, Number, Wide};
use rust_hdl_core::ast::{VerilogExpression, VerilogStatement};
use rust_hdl_core::prelude::*;

/// Something that can stand on either side of a wire.
pub(crate) trait Lines {
    /// Append the values, field by field.
    fn sample(&self, values: &mut Vec<i128>);
    /// Take values in the same order.
    fn drive(&mut self, values: &mut dyn Iterator<Item = i128>);
    /// Mark as driven.
    fn claim(&mut self);
    /// Append Verilog name and width, field by field.
    fn names(&self, name: &str, lines: &mut Vec<(String, u32)>);
}

impl<D: Direction> Lines for Wide<D> {
    fn sample(&self, values: &mut Vec<i128>) {
        values.push(self.val());
    }
    fn drive(&mut self, values: &mut dyn Iterator<Item = i128>) {
        self.next = values.next().expect("both sides of a wire have as many fields");
    }
    fn claim(&mut self) {
        self.connect();
    }
    fn names(&self, name: &str, lines: &mut Vec<(String, u32)>) {
        lines.push((name.to_owned(), self.width()));
    }
}

impl Lines for Number {
    fn sample(&self, values: &mut Vec<i128>) {
        values.push(self.val());
    }
    fn drive(&mut self, _: &mut dyn Iterator<Item = i128>) {
        panic!("a constant is driven");
    }
    fn claim(&mut self) {
        panic!("a constant is driven");
    }
    fn names(&self, name: &str, lines: &mut Vec<(String, u32)>) {
        lines.push((name.to_owned(), self.width()));
    }
}

macro_rules! lines_of_a_bit {
    ($direction:ty) => {
        impl Lines for Signal<$direction, Bit> {
            fn sample(&self, values: &mut Vec<i128>) {
                values.push(self.val().into());
            }
            fn drive(&mut self, values: &mut dyn Iterator<Item = i128>) {
                self.next = values.next().expect("both sides of a wire have as many fields") & 1 == 1;
            }
            fn claim(&mut self) {
                self.connect();
            }
            fn names(&self, name: &str, lines: &mut Vec<(String, u32)>) {
                lines.push((name.to_owned(), 1));
            }
        }
    };
}
lines_of_a_bit!(In);
lines_of_a_bit!(Out);

impl Lines for Signal<In, Clock> {
    fn sample(&self, values: &mut Vec<i128>) {
        values.push(self.val().clk.into());
    }
    fn drive(&mut self, values: &mut dyn Iterator<Item = i128>) {
        self.next.clk = values.next() == Some(1);
    }
    fn claim(&mut self) {
        self.connect();
    }
    fn names(&self, name: &str, lines: &mut Vec<(String, u32)>) {
        lines.push((name.to_owned(), 1));
    }
}

/// What a walk over the wires is for.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Copy values.
    #[default]
    Update,
    /// Mark as driven, and note the names.
    Connect,
}

/// The wires of one block.
#[derive(Default)]
pub(crate) struct Wiring {
    pub(crate) pass: Pass,
    values: Vec<i128>,
    named: Vec<(String, Source)>,
}

/// Which part of the source a wire takes.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    Bit(u32),
    /// As many low bits as the target has.
    Low(u32),
}

/// A line of the source of a wire.
pub(crate) struct Source {
    name: String,
    width: u32,
    part: Part,
}

/// One side of a wire: a path like `pes[3].clock` as names and indices.
pub(crate) type Path<'a> = &'a [(&'a str, &'a [usize])];

fn flat_name(path: Path) -> String {
    let mut name = String::new();
    for (field, indices) in path {
        if !name.is_empty() {
            name.push('$');
        }
        name.push_str(field);
        for index in *indices {
            name.push_str(&format!("${index}"));
        }
    }
    name
}

impl Wiring {
    /// Without names, about to collect them.
    pub(crate) fn connecting() -> Self {
        Wiring { pass: Pass::Connect, ..Wiring::default() }
    }

    /// `from` as it is now; [`Wiring::drive`] passes it on.
    pub(crate) fn sample(&mut self, from: &dyn Lines, path: Path, bit: Option<usize>) -> Vec<Source> {
        self.values.clear();
        from.sample(&mut self.values);
        if let Some(bit) = bit {
            assert_eq!(self.values.len(), 1, "a bit of a bundle");
            self.values[0] = self.values[0].get_bit(bit).into();
        }
        // Nearly always; the simulator spends its time here.
        if self.pass == Pass::Update {
            return Vec::new();
        }
        let mut lines = Vec::new();
        from.names(&flat_name(path), &mut lines);
        let mut sources: Vec<Source> =
            lines.into_iter().map(|(name, width)| Source { name, width, part: Part::Whole }).collect();
        if let Some(bit) = bit {
            for source in &mut sources {
                assert!(bit < source.width as usize, "bit {bit} of {}", source.name);
                (source.width, source.part) = (1, Part::Bit(bit as u32));
            }
        }
        sources
    }

    /// Drive `to` with the last sample.
    pub(crate) fn drive(&mut self, to: &mut dyn Lines, path: Path, from: Vec<Source>) {
        to.drive(&mut self.values.iter().copied());
        if self.pass == Pass::Connect {
            to.claim();
            let mut lines = Vec::new();
            to.names(&flat_name(path), &mut lines);
            assert_eq!(lines.len(), from.len(), "fields of {}", flat_name(path));
            for ((to, width), mut from) in lines.into_iter().zip(from) {
                assert!(width <= from.width, "{to} ({width} bits) from {} ({} bits)", from.name, from.width);
                if width < from.width {
                    from.part = Part::Low(width);
                }
                self.named.push((to, from));
            }
        }
    }

    /// The wires as assignments, under a comment that names the block (see `emit`).
    pub(crate) fn verilog(&self, head: &str) -> Verilog {
        let signal = |name: &str| Box::new(VerilogExpression::Signal(name.to_owned()));
        let number = |value: u32| Box::new(VerilogExpression::Literal(value.into()));
        let source = |from: &Source| match from.part {
            Part::Whole => *signal(&from.name),
            Part::Bit(bit) => VerilogExpression::Index(signal(&from.name), number(bit)),
            Part::Low(width) => VerilogExpression::Slice(signal(&from.name), width as usize, number(0)),
        };
        let mut code = vec![VerilogStatement::Comment(head.to_owned())];
        code.extend(self.named.iter().map(|(to, from)| VerilogStatement::Assignment(*signal(to), source(from))));
        Verilog::Combinatorial(code)
    }
}

/// Wires of `$self`; see the module's head.
macro_rules! wires {
    ($self:ident, $wiring:ident;
     $($($to:ident $([$ti:expr])*).+ = $($from:ident $([$fi:expr])*).+ $(bit $bit:expr)? ;)*) => { { $( {
        let bit: Option<usize> = None $(.or(Some($bit)))?;
        let from = $wiring.sample(
            &$self.$($from $([$fi])*).+, &[$((stringify!($from), &[$($fi),*])),+], bit);
        $wiring.drive(&mut $self.$($to $([$ti])*).+, &[$((stringify!($to), &[$($ti),*])),+], from);
    } )* } };
}

/// `Logic` of a block that only wires: its method `wire` lists them, `$head` is `name: what it is`.
macro_rules! structural {
    ($block:ty, $head:expr) => {
        impl rust_hdl_core::prelude::Logic for $block {
            fn update(&mut self) {
                let mut wiring = std::mem::take(&mut self._wiring);
                wiring.pass = crate::rtl::wiring::Pass::Update;
                self.wire(&mut wiring);
                self._wiring = wiring;
            }
            fn connect(&mut self) {
                let mut wiring = crate::rtl::wiring::Wiring::connecting();
                self.wire(&mut wiring);
                self._wiring = wiring;
            }
            fn hdl(&self) -> rust_hdl_core::prelude::Verilog {
                self._wiring.verilog($head)
            }
        }
    };
}

pub(crate) use {structural, wires};

/// How many of a thing a block has: a number, or whether it has one.
pub(crate) trait Count {
    fn count(self) -> u32;
}

impl Count for u32 {
    fn count(self) -> u32 {
        self
    }
}

/// Literals.
impl Count for i32 {
    fn count(self) -> u32 {
        self as u32
    }
}

impl Count for usize {
    fn count(self) -> u32 {
        self as u32
    }
}

impl Count for bool {
    fn count(self) -> u32 {
        self.into()
    }
}

//! Bundles: signals that travel together, declared once for drivers and readers.
//!
//! `bundle!` makes of each a struct generic over the direction, so that `AluBeat<Out>` of one block is wired to `AluBeat<In>` of
//! another in one line of [`crate::rtl::wiring::wires!`]. In Verilog a field is `bundle_field`.

use rust_hdl_core::prelude::*;

/// What all bundles can do.
pub(crate) trait Bundle: Block + crate::rtl::wiring::Lines {
    /// Names of the single bits.
    const BITS: &'static [&'static str];
    /// Names of the words.
    const WORDS: &'static [&'static str];
}

macro_rules! bundle {
    ($($(#[$doc:meta])* $name:ident { bits: $($bit:ident),* $(,)?; words: $($word:ident),* $(,)?; })*) => { $(
        $(#[$doc])*
        pub(crate) struct $name<D: rust_hdl_core::prelude::Direction> {
            $(pub(crate) $bit: rust_hdl_core::prelude::Signal<D, rust_hdl_core::prelude::Bit>,)*
            $(pub(crate) $word: crate::rtl::signal::Wide<D>,)*
        }

        impl<D: rust_hdl_core::prelude::Direction> $name<D> {
            /// The width of each word by its name.
            pub(crate) fn new(width: &dyn Fn(&str) -> u32) -> Self {
                let _ = width;
                $name {
                    $($bit: rust_hdl_core::prelude::Signal::default(),)*
                    $($word: crate::rtl::signal::Wide::new(width(stringify!($word))),)*
                }
            }
        }

        impl<D: rust_hdl_core::prelude::Direction> rust_hdl_core::prelude::Logic for $name<D> {
            fn update(&mut self) {}
            fn connect(&mut self) {
                $(self.$bit.connect();)*
                $(self.$word.connect();)*
            }
        }

        impl<D: rust_hdl_core::prelude::Direction> rust_hdl_core::prelude::Block for $name<D> {
            fn connect_all(&mut self) {}
            fn update_all(&mut self) {
                $(self.$bit.update_all();)*
                $(self.$word.update_all();)*
            }
            fn has_changed(&self) -> bool {
                false $(|| self.$bit.has_changed())* $(|| self.$word.has_changed())*
            }
            fn accept(&self, name: &str, probe: &mut dyn rust_hdl_core::prelude::Probe) {
                probe.visit_start_namespace(name, self);
                $(self.$bit.accept(stringify!($bit), probe);)*
                $(self.$word.accept(stringify!($word), probe);)*
                probe.visit_end_namespace(name, self);
            }
        }

        impl<D: rust_hdl_core::prelude::Direction> crate::rtl::wiring::Lines for $name<D>
        where rust_hdl_core::prelude::Signal<D, rust_hdl_core::prelude::Bit>: crate::rtl::wiring::Lines {
            fn sample(&self, values: &mut Vec<i128>) {
                $(self.$bit.sample(values);)*
                $(self.$word.sample(values);)*
            }
            fn drive(&mut self, values: &mut dyn Iterator<Item = i128>) {
                $(self.$bit.drive(values);)*
                $(self.$word.drive(values);)*
            }
            fn claim(&mut self) {
                rust_hdl_core::prelude::Logic::connect(self);
            }
            fn names(&self, name: &str, lines: &mut Vec<(String, u32)>) {
                $(self.$bit.names(&format!("{name}${}", stringify!($bit)), lines);)*
                $(self.$word.names(&format!("{name}${}", stringify!($word)), lines);)*
            }
        }

        impl<D: rust_hdl_core::prelude::Direction> crate::rtl::bundle::Bundle for $name<D>
        where rust_hdl_core::prelude::Signal<D, rust_hdl_core::prelude::Bit>: crate::rtl::wiring::Lines {
            const BITS: &'static [&'static str] = &[$(stringify!($bit)),*];
            const WORDS: &'static [&'static str] = &[$(stringify!($word)),*];
        }
    )* };
}

pub(crate) use bundle;

//! Write addresses of the pads of a PU.
//!
//!     result (t+6) ──┐  ┌──────────┐
//!     loader ────────┼──▶ register ├──▶ write addresses of the model, data and temporary pads
//!     bus ───────────┘  └──────────┘

use crate::beats::Widths;
use crate::datapath::pe::{WriteAddresses, address_width};
use arch::isa::Pad;
use blocks::block;
use rust_hdl_core::prelude::*;

/// Where pads are written in the next cycle: the destination of a result, or what the loader or a bus says.
///
/// One of them for all PEs of a PU: only whether a PE writes is its own business.
#[block(clock, leaf)]
pub(crate) fn WriteAddress(widths: &Widths) {
    /// One cycle ahead: the loader is going to write the model, the bus the temporaries.
    let load_model: In;
    for PAD in TEMPORARIES {
        let bus_PAD: In;
    }
    let loaded: In<{ widths.model }>;
    let loaded_data: In<{ widths.data }>;
    let moved: In<{ widths.temporary }>;
    let result: In<{ widths.beat("destination") }>;
    let addresses: Out<WriteAddresses> = |name| address_width(widths, name);
}

impl crate::rtl::Leaf for WriteAddress {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let (moved, result) = (self.moved.val(), self.result.val());
            self.addresses.model.next = if self.load_model.val() { self.loaded.val() } else { result };
            self.addresses.data.next = self.loaded_data.val();
            blocks::unroll! {
                for PAD in TEMPORARIES { self.addresses.PAD.next = if self.bus_PAD.val() { moved } else { result }; }
            }
        }
    }
    fn text(&self) -> String {
        let low = |bits: u32| if bits == self.result.width() { String::new() } else { format!("[{}:0]", bits - 1) };
        let (model, temporary) = (low(self.loaded.width()), low(self.moved.width()));
        let bus = |pad: &Pad| format!("    addresses${pad} <= bus_{pad} ? moved : result{temporary};\n");
        let temporaries: String = Pad::TEMPORARY.iter().map(bus).collect();
        format!(
            "// write_address: where pads are written in the next cycle: by a result, the loader or a bus.
always @(posedge clock) begin
    addresses$model <= load_model ? loaded : result{model};
    addresses$data <= loaded_data;
{temporaries}end"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    #[test]
    fn loader_and_bus_come_before_results() {
        let mut block = WriteAddress::new(&Widths::of_grid(1, 1));
        block.connect_all();
        (block.loaded.next, block.loaded_data.next, block.moved.next, block.result.next) = (1, 2, 3, 4);
        (block.load_model.next, block.bus_t1.next) = (true, true);
        clocked(&mut block, |b| &mut b.clock);
        let at = &block.addresses;
        assert_eq!([at.model.val(), at.data.val(), at.t0.val(), at.t1.val()], [1, 2, 4, 3]);
    }
}

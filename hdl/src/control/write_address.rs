//! Write addresses of the pads of a PU.
//!
//!     result (t+6) ──┐  ┌──────────┐
//!     loader ────────┼──▶ register ├──▶ write addresses of the model, data and temporary pads
//!     bus ───────────┘  └──────────┘

use crate::beats::Widths;
use crate::datapath::pe::{WriteAddresses, address_width};
use crate::rtl::signal::Wide;
use rust_hdl_core::prelude::*;

/// Where pads are written in the next cycle: the destination of a result, or what the loader or a bus says.
///
/// One of them for all PEs of a PU: only whether a PE writes is its own business.
#[derive(LogicBlock)]
pub(crate) struct WriteAddress {
    pub(crate) clock: Signal<In, Clock>,
    /// One cycle ahead: the loader is going to write the model, the bus the temporaries.
    pub(crate) load_model: Signal<In, Bit>,
    pub(crate) bus_t0: Signal<In, Bit>,
    pub(crate) bus_t1: Signal<In, Bit>,
    pub(crate) loaded: Wide<In>,
    pub(crate) loaded_data: Wide<In>,
    pub(crate) moved: Wide<In>,
    pub(crate) result: Wide<In>,
    pub(crate) addresses: WriteAddresses<Out>,
}

impl WriteAddress {
    pub(crate) fn new(widths: &Widths) -> Self {
        WriteAddress {
            clock: Signal::default(),
            load_model: Signal::default(),
            bus_t0: Signal::default(),
            bus_t1: Signal::default(),
            loaded: Wide::new(widths.model),
            loaded_data: Wide::new(widths.data),
            moved: Wide::new(widths.temporary),
            result: Wide::new(widths.beat("destination")),
            addresses: WriteAddresses::new(&|name| address_width(widths, name)),
        }
    }
}

impl Logic for WriteAddress {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let (moved, result) = (self.moved.val(), self.result.val());
            let out = &mut self.addresses;
            out.model.next = if self.load_model.val() { self.loaded.val() } else { result };
            out.data.next = self.loaded_data.val();
            out.t0.next = if self.bus_t0.val() { moved } else { result };
            out.t1.next = if self.bus_t1.val() { moved } else { result };
        }
    }
    fn connect(&mut self) {
        self.addresses.connect();
    }
    fn hdl(&self) -> Verilog {
        let low = |bits: u32| if bits == self.result.width() { String::new() } else { format!("[{}:0]", bits - 1) };
        let (model, temporary) = (low(self.loaded.width()), low(self.moved.width()));
        Verilog::Custom(format!(
            "// write_address: where pads are written in the next cycle: by a result, the loader or a bus.
always @(posedge clock) begin
    addresses$model <= load_model ? loaded : result{model};
    addresses$data <= loaded_data;
    addresses$t0 <= bus_t0 ? moved : result{temporary};
    addresses$t1 <= bus_t1 ? moved : result{temporary};
end"
        ))
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

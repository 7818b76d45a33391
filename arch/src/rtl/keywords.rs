//! Words that Verilog reserves: no module, no signal is called so.

/// Whether a name is reserved in Verilog-2005 or SystemVerilog-2017.
pub fn is_reserved(name: &str) -> bool {
    VERILOG.binary_search(&name).is_ok() || SYSTEM_VERILOG.binary_search(&name).is_ok()
}

/// Reserved words of Verilog-2005, sorted.
#[rustfmt::skip]
pub const VERILOG: &[&str] = &[
    "always", "and", "assign", "automatic", "begin", "buf", "bufif0", "bufif1",
    "case", "casex", "casez", "cell", "cmos", "config", "deassign", "default",
    "defparam", "design", "disable", "edge", "else", "end", "endcase", "endconfig",
    "endfunction", "endgenerate", "endmodule", "endprimitive", "endspecify", "endtable", "endtask", "event",
    "for", "force", "forever", "fork", "function", "generate", "genvar", "highz0",
    "highz1", "if", "ifnone", "incdir", "include", "initial", "inout", "input",
    "instance", "integer", "join", "large", "liblist", "library", "localparam", "macromodule",
    "medium", "module", "nand", "negedge", "nmos", "nor", "noshowcancelled", "not",
    "notif0", "notif1", "or", "output", "parameter", "pmos", "posedge", "primitive",
    "pull0", "pull1", "pulldown", "pullup", "pulsestyle_ondetect", "pulsestyle_onevent", "rcmos", "real",
    "realtime", "reg", "release", "repeat", "rnmos", "rpmos", "rtran", "rtranif0",
    "rtranif1", "scalared", "showcancelled", "signed", "small", "specify", "specparam", "strong0",
    "strong1", "supply0", "supply1", "table", "task", "time", "tran", "tranif0",
    "tranif1", "tri", "tri0", "tri1", "triand", "trior", "trireg", "unsigned",
    "use", "uwire", "vectored", "wait", "wand", "weak0", "weak1", "while",
    "wire", "wor", "xnor", "xor",
];

/// Those that SystemVerilog-2017 adds, sorted.
#[rustfmt::skip]
pub const SYSTEM_VERILOG: &[&str] = &[
    "accept_on", "alias", "always_comb", "always_ff", "always_latch", "before", "bind", "bins",
    "binsof", "bit", "break", "byte", "chandle", "checker", "class", "clocking",
    "const", "constraint", "context", "continue", "covergroup", "coverpoint", "cross", "dist",
    "do", "endchecker", "endclass", "endclocking", "endgroup", "endinterface", "endpackage", "endprogram",
    "endproperty", "endsequence", "enum", "eventually", "expect", "export", "extends", "extern",
    "final", "first_match", "foreach", "forkjoin", "global", "iff", "ignore_bins", "illegal_bins",
    "implements", "implies", "import", "inside", "int", "interconnect", "interface", "intersect",
    "join_any", "join_none", "let", "local", "logic", "longint", "matches", "modport",
    "nettype", "new", "nexttime", "null", "package", "packed", "priority", "program",
    "property", "protected", "pure", "rand", "randc", "randcase", "randsequence", "ref",
    "reject_on", "restrict", "return", "s_always", "s_eventually", "s_nexttime", "s_until", "s_until_with",
    "sequence", "shortint", "shortreal", "soft", "solve", "static", "string", "strong",
    "struct", "super", "sync_accept_on", "sync_reject_on", "tagged", "this", "throughout", "timeprecision",
    "timeunit", "type", "typedef", "union", "unique", "unique0", "until", "until_with",
    "untyped", "var", "virtual", "void", "wait_order", "weak", "wildcard", "with",
    "within",
];

#[cfg(test)]
mod tests {
    use super::{SYSTEM_VERILOG, VERILOG, is_reserved};

    #[test]
    fn words_are_found_by_halves() {
        assert!(VERILOG.is_sorted() && SYSTEM_VERILOG.is_sorted());
        assert!(is_reserved("wire") && is_reserved("logic") && !is_reserved("logistic"));
    }
}

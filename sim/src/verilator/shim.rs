//! The C interface of one design, generated from its port table.
//!
//! Ports are handed out as addresses, so that setting a port costs one store and no call:
//!
//! | width | C type | words |
//! |---|---|---|
//! | 1..=8 | `uint8_t` | |
//! | 9..=16 | `uint16_t` | |
//! | 17..=32 | `uint32_t` | |
//! | 33..=64 | `uint64_t` | |
//! | more | `uint32_t[]` | `ceil(width / 32)` |

use arch::rtl::{Port, Rtl};
use std::fmt::Write;

/// Name of the C++ class that Verilator makes.
pub(super) const CLASS: &str = "Vsimulator";

/// Bytes of a port in the C++ class.
pub(super) fn bytes(width: u32) -> u32 {
    match width {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        33..=64 => 8,
        _ => width.div_ceil(32) * 4,
    }
}

/// The C++ text of the shim.
pub(super) fn text(rtl: &Rtl, trace: bool) -> String {
    let mut text = String::new();
    let lines = if trace { TRACED } else { UNTRACED };
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "extern \"C\" SHIM void* shim_port(Instance* instance, uint32_t index) {{");
    let _ = writeln!(text, "    switch (index) {{");
    for (index, Port { name, width, .. }) in rtl.ports.iter().enumerate() {
        let bytes = bytes(*width);
        let _ = writeln!(text, "    case {index}:");
        let _ =
            writeln!(text, "        static_assert(sizeof(instance->model.{name}) == {bytes}, \"width of {name}\");");
        let _ = writeln!(text, "        return &instance->model.{name};");
    }
    let _ = writeln!(text, "    default: return nullptr;\n    }}\n}}");
    text
}

const UNTRACED: &[&str] = &[
    "#include \"Vsimulator.h\"",
    "#define SHIM __attribute__((visibility(\"default\")))",
    "struct Instance {",
    "    VerilatedContext context;",
    "    Vsimulator model;",
    "    Instance() : model{&context, \"\"} {}",
    "    ~Instance() { model.final(); }",
    "};",
    "extern \"C\" SHIM Instance* shim_new() { return new Instance; }",
    "extern \"C\" SHIM void shim_delete(Instance* instance) { delete instance; }",
    "extern \"C\" SHIM void shim_eval(Instance* instance) { instance->model.eval(); }",
];

const TRACED: &[&str] = &[
    "#include \"Vsimulator.h\"",
    "#include \"verilated_vcd_c.h\"",
    "#define SHIM __attribute__((visibility(\"default\")))",
    "struct Instance {",
    "    VerilatedContext context;",
    "    Vsimulator model;",
    "    VerilatedVcdC waves;",
    "    static VerilatedContext* traced(VerilatedContext* context) { context->traceEverOn(true); return context; }",
    "    Instance() : model{traced(&context), \"\"} { model.trace(&waves, 99); }",
    "    ~Instance() { model.final(); waves.close(); }",
    "};",
    "extern \"C\" SHIM Instance* shim_new() { return new Instance; }",
    "extern \"C\" SHIM void shim_delete(Instance* instance) { delete instance; }",
    "extern \"C\" SHIM void shim_eval(Instance* instance) { instance->model.eval(); }",
    "extern \"C\" SHIM bool shim_trace_open(Instance* instance, const char* path) {",
    "    instance->waves.open(path);",
    "    return instance->waves.isOpen();",
    "}",
    "extern \"C\" SHIM void shim_trace_dump(Instance* instance, uint64_t time) { instance->waves.dump(time); }",
    "extern \"C\" SHIM void shim_trace_close(Instance* instance) { instance->waves.close(); }",
];

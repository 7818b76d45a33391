//! From blocks to Verilog text.
//!
//!     block ──visit──▶ ports, locals, children, code ──▶ module text ──▶ seen before? its name : a new module
//!
//! rust-hdl has a generator of its own. It writes one module per instance (1024 PEs, 1024 modules), names them by their
//! paths and passes every wire through `always @(*)`. This one stands on the same `Probe` interface and the same
//! expression printer, and
//!
//! * merges: blocks with equal text become one module, children before parents, so a grid has one PE module; where code, lines and
//!   children are those of a block before, there is no second text;
//! * connects: a port driven by a plain name is connected to that name, any other single assignment is an `assign`;
//! * writes registers in place: a leaf whose text begins with [`IN_PLACE`] is written into its parent;
//! * names: the first comment of a block, `name: what it is`, gives the module its name and its head line.
//!
//! rust-hdl's checks (all inputs driven, no loops, no writes to inputs) run before.

use crate::rtl::ports::commented_ports;
use crate::rtl::text::{reserved, single_bits};
use rust_hdl_core::ast::VerilogStatement;
use rust_hdl_core::prelude::*;
use rust_hdl_core::verilog_gen::verilog_combinatorial;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

/// First line of the text of a leaf that is written into its parent.
pub(crate) const IN_PLACE: &str = "// in place";

/// The Verilog text of all modules below `top`, whose module gets the name its own comment says.
///
/// `shared`: large blocks that stand there many times are marked as such. `rules`: what stands before the end of a module, by the name
/// and the text of its kind.
pub(crate) fn modules(top: &dyn Block, shared: bool, rules: &dyn Fn(&str, &str) -> String) -> String {
    if let Err(error) = check_all(top) {
        panic!("the grid is wired wrongly: {error:?}");
    }
    let mut emitter = Emitter::new(shared, rules);
    top.accept("top", &mut emitter);
    emitter.text
}

/// Large blocks that a grid has many of. Their modules say so, for synthesisers that can map equal modules once.
const SHARED: [&str; 3] = ["processing_engine", "processing_unit", "root_unit"];

#[derive(Clone, PartialEq)]
struct Line {
    name: String,
    kind: AtomKind,
    width: usize,
    /// Declared without a range: stock bits and clocks.
    scalar: bool,
    signed: bool,
    value: String,
}

impl Line {
    fn range(&self) -> String {
        let signed = if self.signed { "signed " } else { "" };
        if self.scalar { signed.to_owned() } else { format!("{signed}[{}:0] ", self.width - 1) }
    }
}

#[derive(PartialEq)]
struct Child {
    instance: String,
    lines: Vec<Line>,
    body: ChildBody,
}

#[derive(PartialEq)]
enum ChildBody {
    Module(String),
    InPlace(String),
}

struct Open {
    instance: String,
    code: Verilog,
    lines: Vec<Line>,
    children: Vec<Child>,
}

/// A block whose module is known.
struct Written {
    lines: Vec<Line>,
    children: Vec<Child>,
    module: String,
}

struct Emitter<'a> {
    shared: bool,
    rules: &'a dyn Fn(&str, &str) -> String,
    open: Vec<Open>,
    namespace: Vec<String>,
    /// Blocks by their code, which alone does not make their text.
    written: HashMap<String, Vec<Written>>,
    /// (base name, text without the name) to name.
    known: HashMap<(String, String), String>,
    /// How often a base name was given away.
    given: BTreeMap<String, usize>,
    text: String,
}

impl Probe for Emitter<'_> {
    fn visit_start_scope(&mut self, name: &str, node: &dyn Block) {
        self.open.push(Open { instance: name.to_owned(), code: node.hdl(), lines: Vec::new(), children: Vec::new() });
    }

    fn visit_start_namespace(&mut self, name: &str, _: &dyn Block) {
        self.namespace.push(name.to_owned());
    }

    fn visit_atom(&mut self, name: &str, signal: &dyn Atom) {
        let path: Vec<&str> = self.namespace.iter().map(String::as_str).chain([name]).collect();
        let descriptor = signal.descriptor();
        let literal = signal.verilog().to_string();
        let digits = literal.split_once("'h").map_or("0", |(_, digits)| digits);
        let line = Line {
            name: path.join("$"),
            kind: signal.kind(),
            width: signal.bits(),
            scalar: descriptor.name == "Bit" || descriptor.name == "clock",
            signed: matches!(descriptor.kind, TypeKind::Signed(_)),
            value: format!("{}'h{digits}", signal.bits()),
        };
        self.open.last_mut().expect("atoms are visited inside blocks").lines.push(line);
    }

    fn visit_end_namespace(&mut self, _: &str, _: &dyn Block) {
        self.namespace.pop();
    }

    fn visit_end_scope(&mut self, _: &str, _: &dyn Block) {
        let open = self.open.pop().expect("scopes are balanced");
        let (instance, lines) = (open.instance.clone(), open.lines.clone());
        let body = match &open.code {
            Verilog::Custom(text) if text.starts_with(IN_PLACE) => {
                ChildBody::InPlace(text[IN_PLACE.len()..].trim_start().to_owned())
            }
            _ => ChildBody::Module(self.module_of(open)),
        };
        if let Some(parent) = self.open.last_mut() {
            parent.children.push(Child { instance, lines, body });
        }
    }
}

impl<'a> Emitter<'a> {
    fn new(shared: bool, rules: &'a dyn Fn(&str, &str) -> String) -> Self {
        Emitter {
            shared,
            rules,
            open: Vec::new(),
            namespace: Vec::new(),
            written: HashMap::new(),
            known: HashMap::new(),
            given: BTreeMap::new(),
            text: String::new(),
        }
    }

    /// Name of the module for this block.
    fn module_of(&mut self, open: Open) -> String {
        let code = match &open.code {
            Verilog::Combinatorial(code) => verilog_combinatorial(code),
            Verilog::Custom(text) => text.clone(),
            _ => panic!("block {} has no text", open.instance),
        };
        let same = |known: &&Written| known.lines == open.lines && known.children == open.children;
        if let Some(known) = self.written.get(&code).and_then(|all| all.iter().find(same)) {
            return known.module.clone();
        }
        let module = self.module(&open);
        let Open { lines, children, .. } = open;
        self.written.entry(code).or_default().push(Written { lines, children, module: module.clone() });
        module
    }

    /// The same by its text, which is written if it is new.
    fn module(&mut self, open: &Open) -> String {
        let (head, text) = module_text(open);
        let (base, what) = head.split_once(':').unwrap_or((&head, ""));
        let base = base.trim().to_owned();
        if let Some(name) = self.known.get(&(base.clone(), text.clone())) {
            return name.clone();
        }
        let count = self.given.entry(base.clone()).or_insert(0);
        *count += 1;
        let name = if *count == 1 { base.clone() } else { format!("{base}_{count}") };
        let attribute = if self.shared && SHARED.contains(&base.as_str()) { "(* shared *)\n" } else { "" };
        let rules = (self.rules)(&base, &text);
        writeln!(self.text, "\n{attribute}// {}\nmodule {name} {text}{rules}endmodule", what.trim())
            .expect("strings take text");
        self.known.insert((base, text), name.clone());
        name
    }
}

/// The drivers inside one module, sorted by how they are written.
#[derive(Default)]
struct Drivers {
    /// Target and source of every target that is assigned once, unconditionally.
    single: Vec<(String, String)>,
    /// Everything else, as lines of an `always @(*)` block.
    procedural: Vec<String>,
    /// Targets in `procedural`.
    procedural_targets: BTreeSet<String>,
}

fn target(line: &str) -> Option<(&str, &str)> {
    let (left, right) = line.trim_start().split_once(" = ")?;
    let name = left.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    (name && !left.is_empty()).then(|| (left, right.trim_end_matches(';')))
}

fn drivers(code: &[VerilogStatement]) -> Drivers {
    let code = code.iter().filter(|statement| !matches!(statement, VerilogStatement::Comment(_)));
    let text = decimal_indices(&verilog_combinatorial(&code.cloned().collect()));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &lines {
        if let Some((name, _)) = target(line) {
            *times.entry(name).or_insert(0) += 1;
        }
    }
    let mut drivers = Drivers::default();
    // The first and the last line are `always @(*) begin` and `end`.
    for line in lines.iter().skip(1).take(lines.len().saturating_sub(2)) {
        let outermost = line.starts_with("    ") && !line.starts_with("     ");
        match target(line) {
            Some((name, source)) if outermost && times[name] == 1 => {
                drivers.single.push((name.to_owned(), source.to_owned()));
            }
            found => {
                if let Some((name, _)) = found {
                    drivers.procedural_targets.insert(name.to_owned());
                }
                drivers.procedural.push((*line).to_owned());
            }
        }
    }
    drivers
}

/// Indices as people write them: `x[32'h1f]` becomes `x[31]`, `x[(32'h0)+:(6)]` becomes `x[5:0]`.
fn decimal_indices(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest
        .match_indices(['['])
        .map(|(at, _)| at)
        .find(|&at| rest[at..].starts_with("[32'h") || rest[at..].starts_with("[(32'h"))
    {
        out.push_str(&rest[..at]);
        let end = at + rest[at..].find(']').expect("an index ends");
        let inside = &rest[at + 1..end];
        let number = |text: &str| u64::from_str_radix(text.trim_matches(['(', ')']).trim_start_matches("32'h"), 16);
        let index = match inside.split_once("+:") {
            None => number(inside).expect("an index is a number").to_string(),
            Some((low, width)) => {
                let low = number(low).expect("an offset is a number");
                let width: u64 = width.trim_matches(['(', ')']).parse().expect("a width is a number");
                format!("{}:{low}", low + width - 1)
            }
        };
        write!(out, "[{index}]").expect("strings take text");
        rest = &rest[end + 1..];
    }
    out + rest
}

fn is_plain(source: &str) -> bool {
    let name = source.split('[').next().unwrap_or(source);
    !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        && source[name.len()..].chars().all(|c| c.is_ascii_digit() || "[]:".contains(c))
}

/// Replace identifiers.
fn rename(text: &str, with: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let part = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'$';
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() && part(bytes[at]) {
            at += 1;
        }
        if at == start {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
            out.push_str(&text[start..at]);
            continue;
        }
        let word = &text[start..at];
        let name = bytes[start].is_ascii_alphabetic() || bytes[start] == b'_';
        let free = start == 0 || !matches!(bytes[start - 1], b'.' | b'\'');
        match with(word).filter(|_| name && free) {
            Some(new) => out.push_str(&new),
            None => out.push_str(word),
        }
    }
    out
}

/// A register `state` holds its value in `state` and takes it from `state_next`.
fn in_place_name(instance: &str, line: &str) -> String {
    match line.split_once('$') {
        None if line == "q" => instance.to_owned(),
        None if line == "d" => format!("{instance}$next"),
        Some(("q", field)) => format!("{instance}${field}"),
        Some(("d", field)) => format!("{instance}$next${field}"),
        _ => format!("{instance}${line}"),
    }
}

/// All names on the right-hand sides and in conditions, and how often.
fn words_read(drivers: &Drivers) -> BTreeMap<String, usize> {
    let words = std::cell::RefCell::new(BTreeMap::new());
    let sources = drivers.single.iter().map(|(_, source)| source.as_str());
    for text in
        sources.chain(drivers.procedural.iter().map(|line| target(line).map_or(line.as_str(), |(_, right)| right)))
    {
        rename(text, &|word| {
            *words.borrow_mut().entry(word.to_owned()).or_insert(0) += 1;
            None
        });
    }
    words.into_inner()
}

/// Name of a child's line in the parent.
fn line_name(child: &Child, line: &str) -> String {
    match child.body {
        ChildBody::Module(_) => format!("{}${line}", child.instance),
        ChildBody::InPlace(_) => in_place_name(&child.instance, line),
    }
}

/// Head comment and text of a module, the latter from the port list on.
fn module_text(open: &Open) -> (String, String) {
    let (head, text) = match &open.code {
        Verilog::Combinatorial(code) => {
            let head = match code.first() {
                Some(VerilogStatement::Comment(text)) => quoted(text),
                _ => panic!("block {} has no head comment", open.instance),
            };
            (head, wired_text(open, &drivers(code)))
        }
        Verilog::Custom(code) => {
            let (head, body) = code.split_once('\n').unwrap_or((code, ""));
            let head = head.strip_prefix("// ").unwrap_or_else(|| panic!("leaf {} has no head", open.instance));
            (head.to_owned(), leaf_text(open, body))
        }
        _ => panic!("block {} has no text", open.instance),
    };
    let text = single_bits(&flat(&text));
    if let Some(word) = reserved(&text) {
        panic!("{} has a name that SystemVerilog reserves: {word}", open.instance);
    }
    (head, text)
}

/// The text of `comment!("text")`; rust-hdl leaves parts of the macro around it.
fn quoted(comment: &str) -> String {
    comment.split('"').find(|part| part.contains(": ")).unwrap_or(comment).to_owned()
}

/// `a$b` is one name of rust-hdl; Verilog readers prefer `a_b`. System functions (`$signed`) stay.
fn flat(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = ' ';
    for c in text.chars() {
        let joins = c == '$' && (previous.is_ascii_alphanumeric() || previous == '_');
        out.push(if joins { '_' } else { c });
        previous = c;
    }
    out
}

fn port_list(open: &Open, is_reg: &dyn Fn(&str) -> bool) -> String {
    let ports = open.lines.iter().filter_map(|line| {
        let kind = match line.kind {
            AtomKind::InputParameter => "input  wire",
            AtomKind::OutputParameter if is_reg(&line.name) => "output reg ",
            AtomKind::OutputParameter => "output wire",
            _ => return None,
        };
        Some((format!("{kind} {}{}", line.range(), line.name), flat(&line.name)))
    });
    format!("(\n{});\n", commented_ports(ports))
}

fn constants(open: &Open, text: &mut String) {
    for line in open.lines.iter().filter(|line| line.kind == AtomKind::Constant) {
        writeln!(text, "    localparam {}{} = {};", line.range(), line.name, line.value).expect("strings take text");
    }
}

fn indented(body: &str) -> String {
    body.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") }).collect()
}

/// A leaf with its own text; its outputs are `reg` unless the text assigns them.
fn leaf_text(open: &Open, body: &str) -> String {
    let assigned = |name: &str| {
        let starts = |line: &str| line.trim_start().strip_prefix("assign ")?.strip_prefix(name)?.chars().next();
        body.lines().any(|line| matches!(starts(line), Some(' ' | '[')))
    };
    let mut text = port_list(open, &|name| !assigned(name));
    constants(open, &mut text);
    text + &indented(body)
}

fn own_outputs(open: &Open) -> BTreeSet<&str> {
    open.lines.iter().filter(|l| l.kind == AtomKind::OutputParameter).map(|l| l.name.as_str()).collect()
}

/// The names of the signals in a module.
struct Names<'a> {
    /// Of the children, under their outer names.
    rust_names: HashMap<String, String>,
    /// Outputs of children that are ports of the module, by port.
    leaving: HashMap<&'a str, &'a str>,
}

impl<'a> Names<'a> {
    fn of(open: &Open, drivers: &'a Drivers, own_outputs: &BTreeSet<&str>) -> Names<'a> {
        let mut rust_names = HashMap::new();
        for child in &open.children {
            for line in &child.lines {
                rust_names.insert(format!("{}${}", child.instance, line.name), line_name(child, &line.name));
            }
        }
        // Outputs that nobody here reads keep the word `unused` in their names, which linters understand.
        let read = words_read(drivers);
        for child in open.children.iter().filter(|child| matches!(child.body, ChildBody::Module(_))) {
            for line in child.lines.iter().filter(|line| line.kind == AtomKind::OutputParameter) {
                let name = format!("{}${}", child.instance, line.name);
                if !read.contains_key(&name) {
                    rust_names.insert(name.clone(), format!("unused${name}"));
                }
            }
        }
        // A child's output that only leaves through a port of this module is that port.
        let mut leaving: HashMap<&'a str, &'a str> = HashMap::new();
        for child in open.children.iter().filter(|child| matches!(child.body, ChildBody::Module(_))) {
            for line in child.lines.iter().filter(|line| line.kind == AtomKind::OutputParameter) {
                let name = format!("{}${}", child.instance, line.name);
                let port = drivers.single.iter().find(|(to, from)| *from == name && own_outputs.contains(to.as_str()));
                if let (Some((port, from)), Some(1)) = (port, read.get(&name)) {
                    rust_names.insert(name, port.clone());
                    leaving.insert(port, from);
                }
            }
        }
        Names { rust_names, leaving }
    }
}

/// The signals that a module declares: but for ports, and inputs of children that are connected to a plain name.
struct Declared<'a> {
    open: &'a Open,
    own_outputs: &'a BTreeSet<&'a str>,
    procedural: &'a BTreeSet<String>,
    connected: &'a HashMap<String, String>,
}

impl Declared<'_> {
    fn write(&self, outer_name: &dyn Fn(&Child, &str) -> String, text: &mut String) {
        let open = self.open;
        let ports = open.lines.iter().filter(|line| line.kind != AtomKind::LocalSignal);
        let mut declared: BTreeSet<String> = ports.map(|line| flat(&line.name)).collect();
        let mut declare = |text: &mut String, kind: &str, line: &Line, name: &str| {
            if self.own_outputs.contains(name) {
                return;
            }
            assert!(declared.insert(flat(name)), "two signals called {} in {}", flat(name), open.instance);
            writeln!(text, "    {kind} {}{name};", line.range()).expect("strings take text");
        };
        for line in open.lines.iter().filter(|line| line.kind == AtomKind::LocalSignal) {
            let kind = if self.procedural.contains(&line.name) { "reg " } else { "wire" };
            declare(text, kind, line, &line.name);
        }
        for child in &open.children {
            for line in &child.lines {
                let name = outer_name(child, &line.name);
                let in_place = matches!(child.body, ChildBody::InPlace(_));
                match line.kind {
                    AtomKind::InputParameter if self.connected.contains_key(&name) => {}
                    AtomKind::InputParameter if self.procedural.contains(&name) => declare(text, "reg ", line, &name),
                    AtomKind::OutputParameter | AtomKind::LocalSignal if in_place => {
                        declare(text, "reg ", line, &name);
                    }
                    AtomKind::InputParameter | AtomKind::OutputParameter => declare(text, "wire", line, &name),
                    _ => {}
                }
            }
        }
    }
}

/// A block that holds others, or whose text was made from Rust.
fn wired_text(open: &Open, drivers: &Drivers) -> String {
    let own_outputs = own_outputs(open);
    let Names { rust_names, leaving } = Names::of(open, drivers, &own_outputs);
    let outer = |text: &str| rename(text, &|word| rust_names.get(word).cloned());
    let outer_name = |child: &Child, line: &str| rust_names[&format!("{}${line}", child.instance)].clone();

    let inputs: BTreeSet<String> = open
        .children
        .iter()
        .flat_map(|child| {
            let driven = child.lines.iter().filter(|line| line.kind == AtomKind::InputParameter);
            driven.map(|line| outer_name(child, &line.name))
        })
        .collect();

    let procedural: BTreeSet<String> = drivers.procedural_targets.iter().map(|name| outer(name)).collect();
    let mut connected: HashMap<String, String> = HashMap::new();
    let mut assigns = Vec::new();
    for (name, source) in &drivers.single {
        if leaving.get(name.as_str()) == Some(&source.as_str()) {
            continue;
        }
        let (name, source) = (outer(name), outer(source));
        if inputs.contains(&name) && is_plain(&source) {
            connected.insert(name, source);
        } else {
            assigns.push((name, source));
        }
    }

    let mut text = port_list(open, &|name| procedural.contains(name));
    constants(open, &mut text);
    let declared = Declared { open, own_outputs: &own_outputs, procedural: &procedural, connected: &connected };
    declared.write(&outer_name, &mut text);
    for (name, source) in &assigns {
        writeln!(text, "    assign {name} = {source};").expect("strings take text");
    }
    if !drivers.procedural.is_empty() {
        text.push_str("    always @(*) begin\n");
        for line in &drivers.procedural {
            writeln!(text, "    {}", outer(line)).expect("strings take text");
        }
        text.push_str("    end\n");
    }
    let through = |child: &Child, line: &str| {
        let name = outer_name(child, line);
        connected.get(&name).cloned().unwrap_or(name)
    };
    instances(open, &through, &mut text);
    text
}

/// The children of a module; `through` is the name of a signal that a line of theirs is connected to.
fn instances(open: &Open, through: &dyn Fn(&Child, &str) -> String, text: &mut String) {
    for child in &open.children {
        match &child.body {
            ChildBody::InPlace(body) => {
                let names: HashMap<&str, String> =
                    child.lines.iter().map(|l| (l.name.as_str(), through(child, &l.name))).collect();
                text.push_str(&indented(&rename(body, &|word| names.get(word).cloned())));
            }
            ChildBody::Module(module) => {
                let ports = child.lines.iter().filter(|line| line.kind.is_parameter());
                let ports = ports.map(|l| format!("        .{}({})", l.name, through(child, &l.name)));
                let ports: Vec<String> = ports.collect();
                writeln!(text, "    {module} {} (\n{}\n    );", child.instance, ports.join(",\n"))
                    .expect("strings take text");
            }
        }
    }
}

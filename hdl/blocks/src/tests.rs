//! Expansion of blocks, and the errors for wrong ones.

use crate::expand::expand;
use quote::quote;

/// The text of what a block becomes, without spaces.
fn made(options: &str, block: &str) -> String {
    let all = expand(options.parse().unwrap(), block.parse().unwrap()).unwrap_or_else(|error| panic!("{error}"));
    squeezed(&all.to_string())
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// What is said of a wrong block.
fn refused(options: &str, block: &str) -> String {
    expand(options.parse().unwrap(), block.parse().unwrap()).expect_err("this is wrong").to_string()
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(&squeezed(part)), "{part}\nis not in\n{text}");
}

const COUNTER: &str = "/// Counts beats.
fn Counter(bits: u32) {
    let most = bits - 1;
    let passes: In;
    let count: Out<bits>;
    let seen: Register<bits>;
    let on: Flag;
    let (none, one): Const<bits> = (0, 1);
    count = seen;
    on = passes;
    if passes { seen = seen + one; }
    if on { seen = none; }
}";

#[test]
fn a_function_becomes_a_struct_with_new_and_logic() {
    let text = made("clock, reset", COUNTER);
    has(
        &text,
        "#[derive(LogicBlock)] struct Counter { pub(crate) clock: Signal<In, Clock>, pub(crate) reset: Signal<In, Bit>,",
    );
    has(&text, "pub(crate) passes: Signal<In, Bit>, pub(crate) count: crate::rtl::signal::Wide<Out>,");
    has(
        &text,
        "seen: crate::rtl::register::Register, on: crate::rtl::register::Flag, none: crate::rtl::signal::Number,",
    );
    has(&text, "fn new(bits: u32) -> Self { let most = bits - 1; Counter {");
    has(&text, "one: crate::rtl::signal::Number::new(1, bits),");
    has(&text, "comment!(\"counter: counts beats.\");");
}

#[test]
fn registers_follow_the_clock_and_keep_their_values() {
    let text = made("clock, reset", COUNTER);
    has(
        &text,
        "self.seen.clock.next = self.clock.val(); self.on.clock.next = self.clock.val(); self.on.reset.next = self.reset.val();",
    );
    has(
        &text,
        "self.seen.d.next = self.seen.q.val(); if self.passes.val() { self.seen.d.next = self.seen.q.val() + self.one.val(); }",
    );
    // One default, before the first condition; none for what is always assigned.
    assert_eq!(text.matches("self.seen.d.next=self.seen.q.val();").count(), 1);
    assert_eq!(text.matches("self.on.d.next").count(), 1);
}

#[test]
fn keep_says_where_a_default_stands() {
    let block = "/// X.
fn X() { let a: In; let b: Out; let f: Flag; keep!(f); b = f; if a { f = true; } }";
    let text = made("clock, reset", block);
    has(
        &text,
        "self.f.d.next = self.f.q.val(); self.b.next = self.f.q.val(); if self.a.val() { self.f.d.next = true; }",
    );
}

#[test]
fn counts_bundles_and_signed_words() {
    let block = "/// X.
fn X(widths: &Widths) {
    let beat = |name: &str| widths.beat(name);
    let words: [In<{ widths.word }, signed>; 4];
    let numbers: [Const<3>; 4] = n;
    let given: In<Beat> = beat;
    let out: Out;
    out = given.valid && words[2].get_bit(1);
    for i in 0..words.len() { if words[i] == numbers[i] { out = true; } }
}";
    let text = made("", block);
    has(
        &text,
        "words: (0..crate::rtl::wiring::Count::count(4)).map(|_| crate::rtl::signal::Wide::signed(widths.word)).collect(),",
    );
    has(
        &text,
        "numbers: (0..crate::rtl::wiring::Count::count(4)).map(|n| crate::rtl::signal::Number::new(n, 3)).collect(),",
    );
    has(&text, "given: Beat<In>, pub(crate) out: Signal<Out, Bit>");
    has(&text, "given: Beat::new(&beat),");
    has(&text, "self.out.next = self.given.valid.val() && self.words[2].val().get_bit(1);");
    has(&text, "for i in 0..self.words.len() { if self.words[i].val() == self.numbers[i].val()");
}

#[test]
fn wires_lead_from_part_to_part() {
    let block = "/// X.
fn X(size: u32) {
    let word: In<size>;
    let ready: Out;
    let adders = [Adder(clock, reset = stop.now, size); 2];
    let stop = Stop(clock, reset);
    let held: Register<size>;
    let _deep: bool = size > 3;
    held = word;
    adders.a = held;
    adders[0].b = word.bit(size - 1);
    if _deep { ready = stop.now; } else { wire_rest!(word); }
}";
    let text = made("clock, reset, wires, name = \"other\"", block);
    has(&text, "structural!(X, \"other: x.\");");
    has(&text, "adders: (0..crate::rtl::wiring::Count::count(2)).map(|_| Adder::new(size)).collect(),");
    let stopped = "let from = wiring.sample(&self.stop.now, &[(\"stop\", &[]), (\"now\", &[])], None);
        wiring.drive(&mut self.adders[each].reset, &[(\"adders\", &[each]), (\"reset\", &[])], from);";
    has(&text, stopped);
    has(&text, "wiring.drive(&mut self.held.d, &[(\"held\", &[]), (\"d\", &[])], from);");
    has(
        &text,
        "for each in 0..self.adders.len() {{ let from = wiring.sample(&self.held.q, &[(\"held\", &[]), (\"q\", &[])], None);",
    );
    has(&text, "wiring.sample(&self.word, &[(\"word\", &[])], Some(size - 1));");
    has(&text, "if self._deep {");
    has(&text, "wire_rest!(self, wiring, word);");
}

/// Options, block, and what is said.
const WRONG: &[(&str, &str, &str)] = &[
    ("clocks", "/// X.\nfn X() {}", "options of a block are"),
    ("name = 3", "/// X.\nfn X() {}", "the name of a module is a text"),
    ("", "fn X() {}", "the first line of a block's documentation is the head of its module"),
    ("", "/// X.\nfn X() -> u32 {}", "without a result"),
    ("", "/// X.\nfn X<T>() {}", "without parameters of types"),
    ("", "/// X.\nfn X() { let a: Register<3>; }", "`a` needs a clock: `#[block(clock)]`"),
    ("clock", "/// X.\nfn X() { let a: Flag; }", "`a` needs a reset: `#[block(clock, reset)]`"),
    ("clock", "/// X.\nfn X() { let a: Flag<3>; }", "`Flag` has other parameters"),
    ("", "/// X.\nfn X() { let a: u32 = 3; }", "a value of the generator has no type"),
    ("", "/// X.\nfn X() { let a: Vec<u32> = all(); }", "a value of the generator has no type"),
    ("", "/// X.\nfn X() { let a: Const<3>; }", "`a` has no value"),
    ("", "/// X.\nfn X() { let (a, b): Const<3> = (1, 2, 3); }", "3 values for 2 names"),
    ("", "/// X.\nfn X() { let a: In<3, 4>; }", "a bit, a word of `<width>`"),
    ("", "/// X.\nfn X() { let a: In; let a: In; }", "`a` is declared twice"),
    ("", "/// X.\nfn X() { let a: In; a = true; }", "`a` is an input: a block only reads it"),
    ("", "/// X.\nfn X() { let a: Const<3> = 1; a = a; }", "`a` is a constant"),
    ("", "/// X.\nfn X() { let a: Out; b = true; }", "there is no field `b`"),
    ("", "/// X.\nfn X() { let a: Out; }", "nothing drives `a`"),
    ("", "/// X.\nfn X() { let a: Out; a = true; let b: In; }", "declarations stand before all statements"),
    ("", "/// X.\nfn X() { let a: Out; a = true; a.go(); }", "behaviour is assignments, `if` and `for`"),
    ("", "/// X.\nfn X() { let a: Out; keep!(a); }", "`a` is no register"),
    ("wires", "/// X.\nfn X() { let a: Out; a = true; }", "a wire comes from a field, or from a bit of one"),
    ("wires", "/// X.\nfn X() { let a: In; let b: In; a = b; }", "`a` is an input or a constant"),
    ("wires", "/// X.\nfn X() { let a: In; b = a; }", "there is no field `b`"),
    ("wires", "/// X.\nfn X() { let a: In; a.go(); }", "wires are assignments, under `if` and `for`"),
];

#[test]
fn what_is_wrong_is_said() {
    for (options, block, said) in WRONG {
        let found = refused(options, block);
        assert!(found.contains(said), "{block}: {found}");
    }
}

/// All wrong assignments of a statement are named at once.
#[test]
fn errors_are_joined() {
    let block = "/// X.\nfn X() { let a: In; let b: Out; b = a; if a { a = true; c = true; } }";
    let error = expand(quote!(), block.parse().unwrap()).expect_err("two inputs are assigned");
    assert_eq!(error.into_iter().count(), 2);
}

/// By hand: names alone, as parts of others, as indices; lists of a crate; inner loops.
#[test]
fn loops_over_names_are_written_out() {
    let unrolled = |text: &str| crate::unroll::unrolled(text.parse().unwrap()).map(|text| squeezed(&text.to_string()));
    let same = |loops: &str, lines: &str| assert_eq!(unrolled(loops).unwrap(), squeezed(lines), "{loops}");
    same("for PAD in [t0, t1] { PAD.write = PAD_port.word; }", "t0.write = t0_port.word; t1.write = t1_port.word;");
    same("for N in names![move 3] { a[N] = wordN_t1; }", "a[move] = wordmove_t1; a[3] = word3_t1;");
    same("for (N, AT) in names![0 up, 1 down] { if x { s[N] = AT; } }", "if x { s[0] = up; } if x { s[1] = down; }");
    same("for PAD in TEMPORARIES { for N in [0] { PAD.dN = PAD; } }", "t0.d0 = t0; t1.d0 = t1;");
    same("for N in [1] { a = CONST_ONE + NN; }", "a = CONST_ONE + NN;");
    same("a = (any!(PAD in TEMPORARIES, x.write_PAD)) && b;", "a = (x.write_t0 || x.write_t1) && b;");
    same("a = b && all!(PAD in TEMPORARIES, !PAD);", "a = b && !t0 && !t1;");
    same("for n in 0..N { a[n] = b; }", "for n in 0..N { a[n] = b; }");
    for (wrong, says) in [
        ("for A in OTHERS { }", "`OTHERS` is not a list of names"),
        ("for (A, B) in [x, y, z] { }", "not 2 names in each round"),
        ("for A in [x];", "a loop over names has a body"),
    ] {
        assert_eq!(unrolled(wrong).unwrap_err().to_string(), says, "{wrong}");
    }
}

#[test]
fn a_leaf_has_its_model_and_text_beside_it() {
    let text = made(
        "clock, leaf",
        "/// Twice.\nfn Twice(bits: u32) { assert!(bits > 1); let a: In<bits>; let b: [Out<bits>; 2]; let _k: [u8; 2] = [1, 2]; }",
    );
    has(&text, "fn new(bits: u32) -> Self { assert!(bits > 1); Twice {");
    has(&text, "_k: [u8; 2]");
    has(&text, "fn connect(&mut self) { self.b.iter_mut().for_each(Logic::connect); }");
    has(&text, "fn hdl(&self) -> Verilog { Verilog::Custom(crate::rtl::Leaf::text(self)) }");
}

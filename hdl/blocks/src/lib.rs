//! `#[block]`: a hardware block as one function. The macro makes of it what rust-hdl asks for.
//!
//!     /// Counts beats.                             head line of the Verilog module, and documentation of the struct
//!     #[block(clock, reset)]
//!     fn Counter(bits: u32) {                       arguments of `Counter::new`
//!         let most = 1 << (bits - 1);               a value of the generator
//!         let passes: In;                           ports, registers, constants: the fields, in the order of the Verilog text
//!         let count: Out<bits>;
//!         let seen: Register<bits>;
//!         let (none, one, last): Const<bits> = (0, 1, most);
//!
//!         count = seen;                             behaviour, which rust-hdl's own `#[hdl_gen]` translates
//!         if passes { seen = seen + one; }          a register keeps its value where nothing is assigned
//!         if reset || seen == last { seen = none; }
//!     }
//!
//! It becomes `struct Counter`, `Counter::new`, `derive(LogicBlock)` and `Logic`. With the option `wires` the statements are wires between the parts
//! of a block instead: whole bundles, indexed paths, `if` and `for` over what the generator decided.
//!
//! | file | holds |
//! |---|---|
//! | `options` | what stands in `#[block(..)]`, and the head line |
//! | `field` | declarations: kinds of fields, their types and first values |
//! | `path` | names of fields in expressions |
//! | `behaviour` | statements for `#[hdl_gen]` |
//! | `wires` | statements that wire |
//! | `unroll` | loops over names |
//! | `expand` | all of it, joined |

mod behaviour;
mod expand;
mod field;
mod options;
mod path;
mod unroll;
mod wires;

#[cfg(test)]
mod tests;

/// Make a rust-hdl block of a function.
///
/// | option | effect |
/// |---|---|
/// | `clock`, `reset` | the block has these inputs, before all others |
/// | `wires` | statements are wires, not behaviour |
/// | `leaf` | only declarations: `impl Leaf` has a model and the text of the module |
/// | `reset_by = path` | resets the block's registers and parts instead of `reset` |
/// | `long = "reason"` | why it has more than 60 lines |
/// | `name = "text"` | name of the Verilog module, if it is not the block's in snake case |
///
/// | declaration | field |
/// |---|---|
/// | `let x: In;` `Out` `Local` | a bit |
/// | `let x: In<width>;` `In<width, signed>` | a word |
/// | `let x: In<Bundle> = widths;` | a bundle; `widths` gives the width of each word by its name |
/// | `let x: Register<width>;` `Delay<width, cycles>` | words that are not reset |
/// | `let x: Flag;` `FlagDelay<cycles>` | bits that are reset to 0 |
/// | `let x: Stage<Bundle> = widths;` | a bundle in registers |
/// | `let x: State<Block> = value;` | any block with `clock`, `d` and `q` |
/// | `let x: Const<width> = value;` `Ones<width>` | a constant |
/// | `let x = Block(clock, reset, arguments);` | a part, made by `Block::new(arguments)`; `reset = path` resets it by something else |
/// | `#[clocked] let x: Type = value;` | a part of a type with parameters, or with another constructor |
/// | `let _x: Type = value;` | plain data |
/// | `let x: [kind; count];` `let x = [Block(..); count];` | as many; a `bool` counts as one or none, and `n` is the number of each |
/// | `#[reset(path)] let ..` | what resets these instead |
///
/// A pattern `(a, b)` declares several, with a tuple of values or one value for all. Other `let`s are values of the generator.
/// `for PAD in [t0, t1] { .. }` stands for its lines with `t0` and with `t1` in place of `PAD`, also within names.
#[proc_macro_attribute]
pub fn block(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::expand(arguments.into(), item.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// The loops over names of a block, for wires that several blocks have.
#[proc_macro]
pub fn unroll(tokens: proc_macro::TokenStream) -> proc_macro::TokenStream {
    unroll::unrolled(tokens.into()).unwrap_or_else(|error| error.to_compile_error()).into()
}

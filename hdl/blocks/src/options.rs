//! Options in `#[block(..)]`, and the head line of the Verilog module.

use proc_macro2::{Span, TokenStream};
use syn::parse::{Parser, Result};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Token};

/// Options of a block.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) clock: Option<Span>,
    pub(crate) reset: Option<Span>,
    pub(crate) wires: bool,
    /// Model and text stand beside it.
    pub(crate) leaf: bool,
    /// What resets registers and parts.
    pub(crate) reset_by: Option<Expr>,
    name: Option<LitStr>,
}

impl Options {
    pub(crate) fn parse(arguments: TokenStream) -> Result<Options> {
        let mut options = Options::default();
        for meta in Punctuated::<Meta, Token![,]>::parse_terminated.parse2(arguments)? {
            let name = meta.path().get_ident().map(Ident::to_string).unwrap_or_default();
            match (name.as_str(), &meta) {
                ("clock", Meta::Path(path)) => options.clock = path.get_ident().map(Ident::span),
                ("reset", Meta::Path(path)) => options.reset = path.get_ident().map(Ident::span),
                ("wires", Meta::Path(_)) => options.wires = true,
                ("leaf", Meta::Path(_)) => options.leaf = true,
                ("reset_by", Meta::NameValue(pair)) => options.reset_by = Some(pair.value.clone()),
                // For readers, and a test of `hdl`.
                ("long", Meta::NameValue(_)) => {}
                ("name", Meta::NameValue(pair)) => match &pair.value {
                    Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => options.name = Some(text.clone()),
                    other => return Err(Error::new_spanned(other, "the name of a module is a text")),
                },
                _ => {
                    let known = "options of a block are `clock`, `reset`, `wires`, `leaf`, `reset_by = ..`, `long = \"..\"` and `name = \"..\"`";
                    return Err(Error::new_spanned(meta, known));
                }
            }
        }
        Ok(options)
    }

    /// `name: what it is`, from the first paragraph of the documentation.
    pub(crate) fn head(&self, block: &Ident, attributes: &[Attribute]) -> Result<String> {
        let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).map(line);
        let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let text = lines.join(" ");
        let Some(first) = text.chars().next() else {
            return Err(Error::new_spanned(
                block,
                "the first line of a block's documentation is the head of its module",
            ));
        };
        // `PE` keeps its capitals.
        let rest = &text[first.len_utf8()..];
        let first =
            if rest.starts_with(char::is_uppercase) { first.to_string() } else { first.to_lowercase().to_string() };
        let name = self.name.as_ref().map_or_else(|| snake(&block.to_string()), LitStr::value);
        Ok(format!("{name}: {first}{rest}"))
    }
}

/// A line of documentation; empty for anything else.
fn line(attribute: &Attribute) -> String {
    let text = match &attribute.meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => text.value(),
            _ => String::new(),
        },
        _ => String::new(),
    };
    text.trim().to_owned()
}

/// `QueueControl` as `queue_control`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

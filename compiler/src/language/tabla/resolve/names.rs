//! The one namespace of a program, and the constants that `--set` puts into it.
//!
//! A constant given by `--set` replaces every definition of its name in the program, and stands in for one that is missing.

use super::{IteratorId, Kind, Resolved, VariableId};
use crate::language::{Options, nearest};
use arch::{Code, Diagnostic, Span};
use std::collections::BTreeMap;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Symbol {
    Constant {
        value: f64,
        integer: bool,
    },
    Iterator(IteratorId),
    Variable(VariableId),
    /// Declared or used wrongly; reported once, silent afterwards.
    Broken,
}

struct Setting {
    symbol: Symbol,
    used: bool,
}

/// The namespace.
pub(super) struct Names<'s> {
    symbols: BTreeMap<&'s str, (Symbol, Span)>,
    settings: BTreeMap<String, Setting>,
}

impl<'s> Names<'s> {
    /// Only the names of `--set`.
    pub(super) fn new(options: &Options) -> Names<'s> {
        let settings = options.set.iter().map(|(name, value)| {
            let integer = value.fract() == 0.0 && value.abs() < 9.0e15;
            (name.clone(), Setting { symbol: Symbol::Constant { value: *value, integer }, used: false })
        });
        Names { symbols: BTreeMap::new(), settings: settings.collect() }
    }

    /// Define or redefine a name.
    pub(super) fn insert(&mut self, name: &'s str, symbol: Symbol, span: Span) {
        self.symbols.insert(name, (symbol, span));
    }

    /// What the program has defined, not counting `--set`.
    pub(super) fn peek(&self, name: &str) -> Option<(Symbol, Span)> {
        self.symbols.get(name).copied()
    }

    /// What a name stands for.
    pub(super) fn get(&mut self, name: &str) -> Option<Symbol> {
        match self.symbols.get(name) {
            Some(&(symbol, _)) => Some(symbol),
            None => self.overridden(name),
        }
    }

    /// The constant that `--set` gives for a name.
    pub(super) fn overridden(&mut self, name: &str) -> Option<Symbol> {
        let setting = self.settings.get_mut(name)?;
        setting.used = true;
        Some(setting.symbol)
    }

    /// The defined name that looks most like this one.
    pub(super) fn nearest(&self, name: &str) -> Option<&'s str> {
        let broken = |symbol: &Symbol| matches!(symbol, Symbol::Broken);
        nearest(name, self.symbols.iter().filter(|(_, (symbol, _))| !broken(symbol)).map(|(name, _)| *name))
    }

    /// Complaints about `--set` names that no constant of the program has.
    pub(super) fn unused_settings(&self, program: &Resolved) -> Vec<Diagnostic> {
        let constants = || {
            let constant = |symbol: &Symbol| matches!(symbol, Symbol::Constant { .. });
            self.symbols.iter().filter(move |(_, (symbol, _))| constant(symbol)).map(|(name, _)| *name)
        };
        let learns = program.variables.iter().any(|variable| matches!(variable.kind, Kind::Gradient { .. }));
        let unused = self
            .settings
            .iter()
            .filter(|(name, setting)| !setting.used || (*name == "mu" && !learns && !self.symbols.contains_key("mu")));
        unused
            .map(|(name, _)| match (name.as_str(), self.symbols.get(name.as_str())) {
                ("mu", None) => Diagnostic::global(Code::Undef, "--set mu has no effect: the program has no gradient")
                    .with_setting(name),
                (_, Some((_, span))) => {
                    Diagnostic::new(Code::Kind, *span, format!("--set {name}: `{name}` is not a constant"))
                        .with_label("defined here")
                }
                (_, None) => {
                    let diagnostic =
                        Diagnostic::global(Code::Undef, format!("--set {name}: the program has no constant `{name}`"))
                            .with_setting(name);
                    match nearest(name, constants()) {
                        Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
                        None => diagnostic,
                    }
                }
            })
            .collect()
    }
}

//! Names of fields in expressions: `x` is `self.x.val()` for rust-hdl, a register `self.x.q.val()`, and `self.x.d.next` where it is assigned.

use crate::field::{Field, Kind};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use std::collections::BTreeMap;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ExprMethodCall, Ident};

/// The fields of a block by their names.
pub(crate) struct Fields<'a>(BTreeMap<String, &'a Field>);

impl<'a> Fields<'a> {
    pub(crate) fn new(fields: &'a [Field]) -> Self {
        Fields(fields.iter().map(|field| (field.name.to_string(), field)).collect())
    }

    pub(crate) fn get(&self, name: &Ident) -> Option<&'a Field> {
        self.0.get(&name.to_string()).copied()
    }

    /// The field that a path begins with, and the path.
    pub(crate) fn path(&self, expr: &Expr) -> Option<(&'a Field, Path)> {
        let path = Path::of(expr)?;
        Some((self.get(&path.root)?, path))
    }
}

/// `root[index]..member[index]..`.
#[derive(Clone)]
pub(crate) struct Path {
    pub(crate) root: Ident,
    pub(crate) indices: Vec<Expr>,
    pub(crate) members: Vec<(Ident, Vec<Expr>)>,
}

impl Path {
    pub(crate) fn of(expr: &Expr) -> Option<Path> {
        match expr {
            Expr::Path(path) => {
                Some(Path { root: path.path.get_ident()?.clone(), indices: Vec::new(), members: Vec::new() })
            }
            Expr::Field(field) => {
                let mut path = Path::of(&field.base)?;
                let syn::Member::Named(name) = &field.member else { return None };
                path.members.push((name.clone(), Vec::new()));
                Some(path)
            }
            Expr::Index(index) => {
                let mut path = Path::of(&index.expr)?;
                let indices = path.members.last_mut().map_or(&mut path.indices, |(_, indices)| indices);
                indices.push((*index.index).clone());
                Some(path)
            }
            _ => None,
        }
    }

    /// With the port of a register that is meant: `q` where it is read, `d` where it is assigned. Paths that name it stay.
    pub(crate) fn of_state(mut self, field: &Field, port: &str) -> Path {
        let named = self.members.first().is_some_and(|(name, _)| name == "clock" || name == "reset");
        if matches!(field.kind, Kind::State { .. }) && !named {
            self.members.insert(0, (Ident::new(port, self.root.span()), Vec::new()));
        }
        self
    }
}

impl ToTokens for Path {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let (root, indices) = (&self.root, &self.indices);
        tokens.extend(quote!(self.#root #([#indices])*));
        for (name, indices) in &self.members {
            tokens.extend(quote!(.#name #([#indices])*));
        }
    }
}

/// Rewrites what is read.
pub(crate) struct Read<'a, 'b>(pub(crate) &'a Fields<'b>);

impl VisitMut for Read<'_, '_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::MethodCall(ExprMethodCall { receiver, method, .. }) = expr
            && (method == "len" || method == "is_empty")
            && let Some((_, path)) = self.0.path(receiver)
        {
            **receiver = syn::parse_quote!(#path);
            return;
        }
        match self.0.path(expr) {
            Some((field, path)) => {
                let path = path.of_state(field, "q");
                *expr = syn::parse_quote!(#path.val());
            }
            None => visit_mut::visit_expr_mut(self, expr),
        }
    }
}

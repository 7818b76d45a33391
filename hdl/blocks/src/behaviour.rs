//! Behaviour: statements over names, as rust-hdl's `#[hdl_gen]` takes them.
//!
//!     if push { pushed = pushed + one; }    ⇒    self.pushed.d.next = self.pushed.q.val();
//!                                                if self.push.val() { self.pushed.d.next = self.pushed.q.val() + self.one.val(); }

use crate::expand::Named;
use crate::field::{Field, Kind};
use crate::options::Options;
use crate::path::{Fields, Path, Read};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use std::collections::BTreeSet;
use syn::parse::{Parser, Result};
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Error, Expr, Ident, Stmt, Token};

/// `Logic` of a block that computes.
pub(crate) fn logic(named: &Named, fields: &[Field], statements: Vec<Stmt>, options: &Options) -> Result<TokenStream> {
    let head = &named.head;
    let mut body = vec![quote!(comment!(#head);)];
    let all = Fields::new(fields);
    let reset_by = options.reset_by.clone().unwrap_or_else(|| syn::parse_quote!(reset));
    body.extend(fields.iter().map(|field| clock_and_reset(field, &all, &reset_by)));
    let mut driven = BTreeSet::new();
    for statement in statements {
        body.extend(translated(statement, &all, &mut driven)?);
    }
    // A part's inputs are its own; rust-hdl finds those that nothing drives.
    for field in fields.iter().filter(|field| matches!(field.kind, Kind::Out | Kind::Local | Kind::State { .. })) {
        if !driven.contains(&field.name) {
            return Err(Error::new_spanned(&field.name, format!("nothing drives `{}`", field.name)));
        }
    }
    let name = &named.name;
    Ok(quote! {
        impl Logic for #name {
            #[hdl_gen]
            fn update(&mut self) { #(#body)* }
        }
    })
}

/// The clock and the reset of a part.
fn clock_and_reset(field: &Field, fields: &Fields, reset_by: &Expr) -> TokenStream {
    let (clock, reset) = match field.kind {
        Kind::State { reset, .. } => (true, reset),
        Kind::Part { clock, reset } => (clock, reset),
        _ => (false, false),
    };
    let (name, at) = (&field.name, if field.many { quote!([i]) } else { quote!() });
    let clock = clock.then(|| quote!(self.#name #at.clock.next = self.clock.val();));
    let reset = reset.then(|| {
        let mut by = field.reset_by.clone().unwrap_or_else(|| reset_by.clone());
        Read(fields).visit_expr_mut(&mut by);
        quote!(self.#name #at.reset.next = #by;)
    });
    match (&clock, &reset) {
        (None, None) => TokenStream::new(),
        _ if field.many => quote!(for i in 0..self.#name.len() { #clock #reset }),
        _ => quote!(#clock #reset),
    }
}

/// A statement, behind the defaults of the registers that it assigns under a condition.
fn translated(mut statement: Stmt, fields: &Fields, driven: &mut BTreeSet<Ident>) -> Result<Vec<TokenStream>> {
    if let Stmt::Macro(keep) = &statement
        && keep.mac.path.is_ident("keep")
    {
        let names = Punctuated::<Ident, Token![,]>::parse_terminated.parse2(keep.mac.tokens.clone())?;
        return names.into_iter().map(|name| kept(name, fields, driven)).collect();
    }
    let mut targets = Targets { fields, found: Vec::new(), error: None };
    let always = matches!(&statement, Stmt::Expr(Expr::Assign(_), _));
    targets.visit_stmt_mut(&mut statement);
    if let Some(error) = targets.error {
        return Err(error);
    }
    let mut out = Vec::new();
    for name in targets.found {
        let keeps =
            fields.get(&name).is_some_and(|field| !field.many && matches!(field.kind, Kind::State { keeps: true, .. }));
        if !always && keeps && !driven.contains(&name) {
            out.push(quote!(self.#name.d.next = self.#name.q.val();));
        }
        driven.insert(name);
    }
    out.push(statement.into_token_stream());
    Ok(out)
}

/// A register of `keep!(..)`, which says where its default stands.
fn kept(name: Ident, fields: &Fields, driven: &mut BTreeSet<Ident>) -> Result<TokenStream> {
    if !fields.get(&name).is_some_and(|field| matches!(field.kind, Kind::State { .. })) {
        return Err(Error::new_spanned(&name, format!("`{name}` is no register")));
    }
    let default = quote!(self.#name.d.next = self.#name.q.val(););
    driven.insert(name);
    Ok(default)
}

/// Rewrites statements, and notes what they assign.
struct Targets<'a, 'b> {
    fields: &'a Fields<'b>,
    found: Vec<Ident>,
    error: Option<Error>,
}

impl Targets<'_, '_> {
    fn refuse(&mut self, error: Error) {
        match &mut self.error {
            Some(all) => all.combine(error),
            None => self.error = Some(error),
        }
    }

    fn target(&mut self, expr: &mut Expr) {
        let Some(path) = Path::of(expr) else {
            self.refuse(Error::new_spanned(expr, "only fields are assigned"));
            return;
        };
        let (name, root) = (path.root.to_string(), path.root.clone());
        match self.fields.get(&root) {
            None => self.refuse(Error::new_spanned(&root, format!("there is no field `{name}`"))),
            Some(Field { kind: Kind::In, .. }) => {
                self.refuse(Error::new_spanned(&root, format!("`{name}` is an input: a block only reads it")));
            }
            Some(Field { kind: Kind::Constant | Kind::Data, .. }) => {
                self.refuse(Error::new_spanned(&root, format!("`{name}` is a constant")));
            }
            Some(field) => {
                let path = path.of_state(field, "d");
                *expr = syn::parse_quote!(#path.next);
                self.found.push(root);
            }
        }
    }
}

impl VisitMut for Targets<'_, '_> {
    fn visit_stmt_mut(&mut self, statement: &mut Stmt) {
        if let Stmt::Local(local) = statement {
            self.refuse(Error::new_spanned(local, "declarations stand before all statements"));
            return;
        }
        visit_mut::visit_stmt_mut(self, statement);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        block.stmts.iter_mut().for_each(|statement| self.visit_stmt_mut(statement));
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Assign(assign) => {
                Read(self.fields).visit_expr_mut(&mut assign.right);
                self.target(&mut assign.left);
            }
            Expr::If(condition) => {
                Read(self.fields).visit_expr_mut(&mut condition.cond);
                self.visit_block_mut(&mut condition.then_branch);
                if let Some((_, other)) = &mut condition.else_branch {
                    self.visit_expr_mut(other);
                }
            }
            Expr::ForLoop(all) => {
                Read(self.fields).visit_expr_mut(&mut all.expr);
                self.visit_block_mut(&mut all.body);
            }
            Expr::Block(block) => self.visit_block_mut(&mut block.block),
            other => self.refuse(Error::new_spanned(other, "behaviour is assignments, `if` and `for`")),
        }
    }
}

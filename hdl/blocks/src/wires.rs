//! Wires: statements between the parts of a block, for `rtl::wiring`.
//!
//!     memory.write = pushes;          ⇒    let from = wiring.sample(&self.pushes.q, &[("pushes", &[]), ("q", &[])], None);
//!                                          wiring.drive(&mut self.memory.write, &[("memory", &[]), ("write", &[])], from);
//!     lanes.scatter = scatter;             for all of `lanes`, if it has a count
//!     bus.write = admitted.bit(c);         one bit
//!     wire_pacer!(loops);                  wires that several blocks have: `wire_pacer!(self, wiring, loops)`

use crate::expand::Named;
use crate::field::{Field, Kind};
use crate::options::Options;
use crate::path::{Fields, Path};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Result;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Error, Expr, Ident, Stmt};

/// `Logic` of a block that wires others.
pub(crate) fn logic(named: &Named, fields: &[Field], statements: &[Stmt], options: &Options) -> Result<TokenStream> {
    let (name, head) = (&named.name, &named.head);
    let all = Fields::new(fields);
    let reset_by = options.reset_by.clone().unwrap_or_else(|| syn::parse_quote!(reset));
    let mut body = Vec::new();
    for field in fields {
        body.push(clock_and_reset(field, &all, &reset_by)?);
    }
    for statement in statements {
        body.push(wire(statement, &all)?);
    }
    Ok(quote! {
        impl #name {
            fn wire(&mut self, wiring: &mut crate::rtl::wiring::Wiring) { #(#body)* }
        }
        crate::rtl::wiring::structural!(#name, #head);
    })
}

fn clock_and_reset(field: &Field, fields: &Fields, reset_by: &Expr) -> Result<TokenStream> {
    let (clock, reset) = match field.kind {
        Kind::State { reset, .. } => (true, reset),
        Kind::Part { clock, reset } => (clock, reset),
        _ => (false, false),
    };
    let name = &field.name;
    let port = |port: &str| -> Path {
        let indices = if field.many { vec![syn::parse_quote!(each)] } else { Vec::new() };
        Path { root: name.clone(), indices, members: vec![(Ident::new(port, name.span()), Vec::new())] }
    };
    let mut wires = TokenStream::new();
    if clock {
        wires.extend(one(&port("clock"), &from(&syn::parse_quote!(clock), fields)?));
    }
    if reset {
        let by = field.reset_by.as_ref().unwrap_or(reset_by);
        wires.extend(one(&port("reset"), &from(by, fields)?));
    }
    Ok(if field.many && !wires.is_empty() { quote!(for each in 0..self.#name.len() { #wires }) } else { wires })
}

/// The source of a wire, and the bit of it that is meant.
struct From {
    path: Path,
    bit: Option<Expr>,
}

fn from(expr: &Expr, fields: &Fields) -> Result<From> {
    if let Expr::MethodCall(call) = expr
        && call.method == "bit"
        && let Some(bit) = call.args.first()
    {
        return Ok(From { bit: Some(bit.clone()), ..from(&call.receiver, fields)? });
    }
    let (field, path) =
        fields.path(expr).ok_or_else(|| Error::new_spanned(expr, "a wire comes from a field, or from a bit of one"))?;
    Ok(From { path: generated(path, fields).of_state(field, "q"), bit: None })
}

/// As the names of `rtl::wiring`.
fn steps(path: &Path) -> TokenStream {
    let root = (&path.root, &path.indices);
    let steps = std::iter::once(root).chain(path.members.iter().map(|(name, indices)| (name, indices)));
    let steps = steps.map(|(name, indices)| {
        let name = name.to_string();
        quote!((#name, &[#(#indices),*]))
    });
    quote!(&[#(#steps),*])
}

fn one(to: &Path, from: &From) -> TokenStream {
    let From { path, bit } = from;
    let (from_steps, to_steps) = (steps(path), steps(to));
    let bit = bit.as_ref().map_or(quote!(None), |bit| quote!(Some(#bit)));
    quote! {{
        let from = wiring.sample(&#path, #from_steps, #bit);
        wiring.drive(&mut #to, #to_steps, from);
    }}
}

/// A name with a count and no index stands for all of its elements.
fn assigned(to: &Expr, right: &Expr, fields: &Fields) -> Result<TokenStream> {
    let (field, to) = match (fields.path(to), Path::of(to)) {
        (Some(found), _) => found,
        (None, Some(path)) => {
            return Err(Error::new_spanned(to, format!("there is no field `{}`", path.root)));
        }
        (None, None) => return Err(Error::new_spanned(to, "a wire leads to a field")),
    };
    if matches!(field.kind, Kind::In | Kind::Constant | Kind::Data) {
        return Err(Error::new_spanned(
            &to.root,
            format!("`{}` is an input or a constant: a block only reads it", to.root),
        ));
    }
    let (mut to, mut from) = (generated(to, fields).of_state(field, "d"), from(right, fields)?);
    let open = |path: &Path| path.indices.is_empty() && fields.get(&path.root).is_some_and(|field| field.many);
    let (all_to, all_from) = (open(&to).then(|| to.root.clone()), open(&from.path).then(|| from.path.root.clone()));
    if all_to.is_some() {
        to.indices.push(syn::parse_quote!(each));
    }
    if all_from.is_some() {
        from.path.indices.push(syn::parse_quote!(each));
    }
    let wire = one(&to, &from);
    Ok(match (all_to, all_from) {
        (None, None) => wire,
        (Some(to), Some(from)) => {
            let text = format!("as many `{to}` as `{from}`");
            quote!(assert_eq!(self.#to.len(), self.#from.len(), #text); for each in 0..self.#to.len() { #wire })
        }
        (Some(all), None) | (None, Some(all)) => quote!(for each in 0..self.#all.len() { #wire }),
    })
}

/// Fields in conditions, ranges and values of the generator.
struct Own<'a, 'b>(&'a Fields<'b>);

impl VisitMut for Own<'_, '_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match self.0.path(expr) {
            Some((_, path)) => *expr = syn::parse_quote!(#path),
            None => visit_mut::visit_expr_mut(self, expr),
        }
    }
}

/// With the fields that its indices name: `words[words.len() - 1]`.
fn generated(mut path: Path, fields: &Fields) -> Path {
    let members = path.members.iter_mut().flat_map(|(_, indices)| indices);
    path.indices.iter_mut().chain(members).for_each(|index| Own(fields).visit_expr_mut(index));
    path
}

fn wire(statement: &Stmt, fields: &Fields) -> Result<TokenStream> {
    match statement {
        Stmt::Expr(expr, _) => expression(expr, fields),
        Stmt::Local(local) => {
            let mut local = local.clone();
            Own(fields).visit_local_mut(&mut local);
            Ok(local.into_token_stream())
        }
        Stmt::Macro(shared) => {
            let (path, tokens) = (&shared.mac.path, &shared.mac.tokens);
            let tokens = if tokens.is_empty() { quote!() } else { quote!(, #tokens) };
            Ok(quote!(#path!(self, wiring #tokens);))
        }
        Stmt::Item(item) => Err(Error::new_spanned(item, "items stand outside of blocks")),
    }
}

fn expression(expr: &Expr, fields: &Fields) -> Result<TokenStream> {
    let own = |expr: &Expr| {
        let mut expr = expr.clone();
        Own(fields).visit_expr_mut(&mut expr);
        expr
    };
    match expr {
        Expr::Assign(assign) => assigned(&assign.left, &assign.right, fields),
        Expr::If(condition) => {
            let (test, then) = (own(&condition.cond), block(&condition.then_branch, fields)?);
            let other = match &condition.else_branch {
                Some((_, other)) => {
                    let other = expression(other, fields)?;
                    quote!(else #other)
                }
                None => quote!(),
            };
            Ok(quote!(if #test #then #other))
        }
        Expr::ForLoop(all) => {
            let (pat, range, body) = (&all.pat, own(&all.expr), block(&all.body, fields)?);
            Ok(quote!(for #pat in #range #body))
        }
        Expr::Block(inner) => block(&inner.block, fields),
        other => Err(Error::new_spanned(other, "wires are assignments, under `if` and `for`")),
    }
}

fn block(block: &Block, fields: &Fields) -> Result<TokenStream> {
    let wires = block.stmts.iter().map(|statement| wire(statement, fields)).collect::<Result<Vec<_>>>()?;
    Ok(quote!({ #(#wires)* }))
}

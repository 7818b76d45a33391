//! Declarations: what kinds of fields there are, and their types and first values.

use crate::options::Options;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Result;
use syn::{Attribute, Error, Expr, ExprCall, GenericArgument, Ident, Local, Pat, PathArguments, Type};

/// What a field is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    In,
    Out,
    Local,
    /// `clock`, `d` and `q`.
    State {
        reset: bool,
        /// It keeps its value where nothing is assigned: that is no delay.
        keeps: bool,
    },
    Constant,
    Part {
        clock: bool,
        reset: bool,
    },
    Data,
}

/// A field of the struct.
pub(crate) struct Field {
    pub(crate) name: Ident,
    docs: TokenStream,
    pub(crate) kind: Kind,
    /// There is a count.
    pub(crate) many: bool,
    of: TokenStream,
    value: TokenStream,
    /// What resets it, if that is not what resets all.
    pub(crate) reset_by: Option<Expr>,
}

impl Field {
    /// The input `clock` or `reset`.
    pub(crate) fn input(name: &str, span: proc_macro2::Span) -> Field {
        let of = if name == "clock" { quote!(Clock) } else { quote!(Bit) };
        Field {
            name: Ident::new(name, span),
            docs: TokenStream::new(),
            kind: Kind::In,
            many: false,
            of: quote!(Signal<In, #of>),
            value: quote!(Signal::default()),
            reset_by: None,
        }
    }

    /// In the struct.
    pub(crate) fn definition(&self) -> TokenStream {
        let Field { name, docs, of, .. } = self;
        let of = if self.many { quote!(Vec<#of>) } else { of.clone() };
        let visibility = if matches!(self.kind, Kind::In | Kind::Out) { quote!(pub(crate)) } else { quote!() };
        quote!(#docs #visibility #name: #of)
    }

    /// In `new`.
    pub(crate) fn first(&self) -> TokenStream {
        let Field { name, value, .. } = self;
        quote!(#name: #value)
    }
}

/// What stands on the right of a declaration's pattern, for one of its names.
struct Made {
    kind: Kind,
    of: TokenStream,
    value: TokenStream,
    reset_by: Option<Expr>,
}

/// The fields of a `let`; none if it is a value of the generator.
pub(crate) fn declared(local: &Local, options: &Options) -> Result<Option<Vec<Field>>> {
    let init = local.init.as_ref().map(|init| &*init.expr);
    let (pat, annotated) = match &local.pat {
        Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
        pat => (pat, None),
    };
    let is_data = matches!(pat, Pat::Ident(name) if name.ident.to_string().starts_with('_'));
    let count = match (annotated, init) {
        (Some(Type::Array(array)), _) if !is_data => Some(&array.len),
        (None, Some(Expr::Repeat(repeat))) if part(&repeat.expr).is_some() => Some(&*repeat.len),
        (None, Some(init)) if part(init).is_some() => None,
        (None, _) => return Ok(None),
        (Some(_), _) => None,
    };
    let names = names(pat)?;
    let Attributes { docs, clocked, reset_by } = attributes(&local.attrs)?;
    let mut fields = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let init = match init {
            Some(Expr::Tuple(tuple)) if names.len() > 1 => match tuple.elems.get(n) {
                Some(_) if tuple.elems.len() != names.len() => {
                    return Err(Error::new_spanned(
                        tuple,
                        format!("{} values for {} names", tuple.elems.len(), names.len()),
                    ));
                }
                value => value,
            },
            one => one,
        };
        let mut made = match annotated {
            Some(Type::Array(array)) if !is_data => kind(name, &array.elem, init)?,
            Some(of) => kind(name, of, init)?,
            None => match init {
                Some(Expr::Repeat(repeat)) => part(&repeat.expr),
                init => init.and_then(part),
            }
            .ok_or_else(|| Error::new_spanned(name, "no block is named here"))?,
        };
        made.reset_by = made.reset_by.or_else(|| reset_by.clone());
        if let Kind::Part { clock, reset } = &mut made.kind {
            *clock |= clocked;
            *reset |= made.reset_by.is_some();
        }
        check(name, &made, options)?;
        let value = match count {
            Some(count) => many(count, &made.value),
            None => made.value,
        };
        // Documentation before several names is of all; the first has it.
        let docs = if n == 0 { docs.clone() } else { TokenStream::new() };
        let Made { kind, of, reset_by, .. } = made;
        fields.push(Field { name: name.clone(), docs, kind, many: count.is_some(), of, value, reset_by });
    }
    Ok(Some(fields))
}

/// A block without `clock` has nothing that is clocked.
fn check(name: &Ident, made: &Made, options: &Options) -> Result<()> {
    let (clock, reset) = match made.kind {
        Kind::State { reset, .. } => (true, reset),
        Kind::Part { clock, reset } => (clock, reset),
        _ => (false, false),
    };
    if clock && options.clock.is_none() {
        return Err(Error::new_spanned(name, format!("`{name}` needs a clock: `#[block(clock)]`")));
    }
    if reset && options.reset.is_none() && options.reset_by.is_none() && made.reset_by.is_none() {
        return Err(Error::new_spanned(name, format!("`{name}` needs a reset: `#[block(clock, reset)]`")));
    }
    Ok(())
}

/// As many as `count` says; `n` is the number of each.
fn many(count: &Expr, value: &TokenStream) -> TokenStream {
    let counted = value.clone().into_iter().any(|token| names_n(&token));
    let n = if counted { quote!(n) } else { quote!(_) };
    quote!((0..crate::rtl::wiring::Count::count(#count)).map(|#n| #value).collect())
}

fn names_n(token: &proc_macro2::TokenTree) -> bool {
    match token {
        proc_macro2::TokenTree::Ident(name) => name == "n",
        proc_macro2::TokenTree::Group(group) => group.stream().into_iter().any(|token| names_n(&token)),
        _ => false,
    }
}

fn names(pat: &Pat) -> Result<Vec<Ident>> {
    let one = |pat: &Pat| match pat {
        Pat::Ident(name) => Ok(name.ident.clone()),
        other => Err(Error::new_spanned(other, "a name, or several in brackets")),
    };
    match pat {
        Pat::Tuple(all) => all.elems.iter().map(one).collect(),
        pat => Ok(vec![one(pat)?]),
    }
}

/// What stands before a declaration.
#[derive(Default)]
struct Attributes {
    docs: TokenStream,
    /// `#[clocked]`
    clocked: bool,
    /// `#[reset(path)]`
    reset_by: Option<Expr>,
}

fn attributes(attributes: &[Attribute]) -> Result<Attributes> {
    let mut found = Attributes::default();
    for attribute in attributes {
        if attribute.path().is_ident("reset") {
            found.reset_by = Some(attribute.parse_args()?);
        } else if attribute.path().is_ident("clocked") {
            found.clocked = true;
        } else {
            attribute.to_tokens(&mut found.docs);
        }
    }
    Ok(found)
}

/// `Block(clock, reset, arguments)`.
fn part(init: &Expr) -> Option<Made> {
    let Expr::Call(ExprCall { func, args, .. }) = init else { return None };
    let Expr::Path(path) = &**func else { return None };
    let last = path.path.segments.last()?.ident.to_string();
    if !last.starts_with(char::is_uppercase) || ["Some", "Ok", "Err"].contains(&last.as_str()) {
        return None;
    }
    let (mut clock, mut reset, mut reset_by) = (false, false, None);
    let mut others = Vec::new();
    for argument in args {
        match argument {
            Expr::Path(path) if path.path.is_ident("clock") => clock = true,
            Expr::Path(path) if path.path.is_ident("reset") => reset = true,
            Expr::Assign(assign) if matches!(&*assign.left, Expr::Path(path) if path.path.is_ident("reset")) => {
                (reset, reset_by) = (true, Some((*assign.right).clone()));
            }
            other => others.push(other),
        }
    }
    Some(Made {
        kind: Kind::Part { clock, reset },
        of: quote!(#path),
        value: quote!(#path::new(#(#others),*)),
        reset_by,
    })
}

/// An argument without the braces that Rust wants around an expression.
fn argument(argument: &GenericArgument) -> TokenStream {
    match argument {
        GenericArgument::Const(Expr::Block(block)) if block.block.stmts.len() == 1 => {
            block.block.stmts[0].to_token_stream()
        }
        other => other.to_token_stream(),
    }
}

/// The field that an annotated type means.
fn kind(name: &Ident, of: &Type, init: Option<&Expr>) -> Result<Made> {
    let made = |kind, of, value| Ok(Made { kind, of, value, reset_by: None });
    let needs_value = || Error::new_spanned(of, format!("`{name}` has no value"));
    if name.to_string().starts_with('_') {
        return made(Kind::Data, of.to_token_stream(), init.ok_or_else(needs_value)?.to_token_stream());
    }
    let Type::Path(path) = of else { return Err(Error::new_spanned(of, "no kind of field")) };
    let last = path.path.segments.last().expect("a path has a last name");
    let arguments: Vec<TokenStream> = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().map(argument).collect(),
        _ => Vec::new(),
    };
    let word = last.ident.to_string();
    let state = |reset, keeps| {
        let of = &last.ident;
        let of = quote!(crate::rtl::register::#of);
        made(Kind::State { reset, keeps }, of.clone(), quote!(#of::new(#(#arguments),*)))
    };
    match (word.as_str(), arguments.as_slice()) {
        ("In" | "Out" | "Local", arguments) => {
            let kind = match word.as_str() {
                "In" => Kind::In,
                "Out" => Kind::Out,
                _ => Kind::Local,
            };
            port(of, kind, &last.ident, arguments, init)
        }
        ("Register", [_]) => state(false, true),
        ("Flag", []) => state(true, true),
        ("Delay", [_, _]) => state(false, false),
        ("FlagDelay", [_]) => state(true, false),
        ("Stage", [bundle]) => {
            let (stage, widths) = (quote!(crate::rtl::register::Stage), init.ok_or_else(needs_value)?);
            let value = quote!(#stage::new(#bundle::new(&#widths), #bundle::new(&#widths)));
            made(Kind::State { reset: true, keeps: false }, quote!(#stage<#bundle<In>, #bundle<Out>>), value)
        }
        ("State", [of]) => {
            let value = init.ok_or_else(needs_value)?;
            made(Kind::State { reset: false, keeps: true }, of.clone(), quote!(#value))
        }
        ("Const", [width]) => {
            let (number, value) = (quote!(crate::rtl::signal::Number), init.ok_or_else(needs_value)?);
            made(Kind::Constant, number.clone(), quote!(#number::new(#value, #width)))
        }
        ("Ones", [width]) => {
            let number = quote!(crate::rtl::signal::Number);
            made(Kind::Constant, number.clone(), quote!(#number::ones(#width)))
        }
        ("Register" | "Flag" | "Delay" | "FlagDelay" | "Stage" | "State" | "Const" | "Ones", _) => {
            Err(Error::new_spanned(of, format!("`{word}` has other parameters")))
        }
        (word, _) if word.starts_with(char::is_uppercase) && word != "Vec" => {
            let kind = Kind::Part { clock: false, reset: false };
            made(kind, of.to_token_stream(), init.ok_or_else(needs_value)?.to_token_stream())
        }
        _ => Err(Error::new_spanned(of, "no kind of field; a value of the generator has no type")),
    }
}

/// A bit, a word or a bundle.
fn port(of: &Type, kind: Kind, direction: &Ident, arguments: &[TokenStream], init: Option<&Expr>) -> Result<Made> {
    let wide = quote!(crate::rtl::signal::Wide);
    let (of, value) = match (arguments, init) {
        ([], None) => (quote!(Signal<#direction, Bit>), quote!(Signal::default())),
        ([width], None) => (quote!(#wide<#direction>), quote!(#wide::new(#width))),
        ([bundle], Some(widths)) => (quote!(#bundle<#direction>), quote!(#bundle::new(&#widths))),
        ([width, signed], None) if signed.to_string() == "signed" => {
            (quote!(#wide<#direction>), quote!(#wide::signed(#width)))
        }
        _ => {
            return Err(Error::new_spanned(
                of,
                "a bit, a word of `<width>` or `<width, signed>`, or a bundle with its widths",
            ));
        }
    };
    Ok(Made { kind, of, value, reset_by: None })
}

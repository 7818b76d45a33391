//! From a function to the items of a block.

use crate::field::{Field, Kind, declared};
use crate::options::Options;
use crate::unroll::unrolled;
use crate::{behaviour, wires};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::Result;
use syn::{Error, Ident, ItemFn, Signature, Stmt};

/// A block's name, and the head line of its module.
pub(crate) struct Named {
    pub(crate) name: Ident,
    pub(crate) head: String,
}

/// See [`crate::block`].
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options = Options::parse(arguments)?;
    let ItemFn { attrs, vis, sig, block, .. } = syn::parse2(unrolled(item)?)?;
    check(&sig)?;
    let named = Named { head: options.head(&sig.ident, &attrs)?, name: sig.ident };
    let (mut fields, values, statements) = parts(block.stmts, &options)?;
    let inputs = [("clock", options.clock), ("reset", options.reset)];
    fields.splice(0..0, inputs.into_iter().filter_map(|(name, span)| Some(Field::input(name, span?))));
    for (n, field) in fields.iter().enumerate() {
        if fields[..n].iter().any(|before| before.name == field.name) {
            return Err(Error::new_spanned(&field.name, format!("`{}` is declared twice", field.name)));
        }
    }
    let (name, arguments) = (&named.name, &sig.inputs);
    let definitions = fields.iter().map(Field::definition);
    let first = fields.iter().map(Field::first);
    let (wiring, no_wires) = if options.wires {
        let wiring = quote!(crate::rtl::wiring::Wiring);
        (quote!(_wiring: #wiring,), quote!(_wiring: #wiring::default(),))
    } else {
        (quote!(), quote!())
    };
    let logic = if options.leaf {
        leaf(name, &fields)
    } else if options.wires {
        wires::logic(&named, &fields, &statements, &options)?
    } else {
        behaviour::logic(&named, &fields, statements, &options)?
    };
    Ok(quote! {
        #(#attrs)*
        #[derive(LogicBlock)]
        #vis struct #name { #(#definitions,)* #wiring }
        impl #name {
            #vis fn new(#arguments) -> Self {
                #(#values)*
                #name { #(#first,)* #no_wires }
            }
        }
        #logic
    })
}

/// `Logic` of a block whose model and text are its `Leaf`.
fn leaf(name: &Ident, fields: &[Field]) -> TokenStream {
    let driven = fields.iter().filter(|field| matches!(field.kind, Kind::Out | Kind::Local)).map(|field| {
        let name = &field.name;
        if field.many { quote!(self.#name.iter_mut().for_each(Logic::connect);) } else { quote!(self.#name.connect();) }
    });
    quote! {
        impl Logic for #name {
            fn update(&mut self) { crate::rtl::Leaf::model(self); }
            fn connect(&mut self) { #(#driven)* }
            fn hdl(&self) -> Verilog { Verilog::Custom(crate::rtl::Leaf::text(self)) }
        }
    }
}

/// A block is a plain function of what the generator decides.
fn check(sig: &Signature) -> Result<()> {
    let wrong = match sig {
        Signature { output: syn::ReturnType::Type(_, of), .. } => of.to_token_stream(),
        Signature { generics, .. } if !generics.params.is_empty() => generics.to_token_stream(),
        Signature { asyncness: Some(word), .. } => word.to_token_stream(),
        _ => return Ok(()),
    };
    Err(Error::new_spanned(wrong, "a block is a function without parameters of types and without a result"))
}

type Parts = (Vec<Field>, Vec<TokenStream>, Vec<Stmt>);

/// Fields, values of the generator, and the statements behind them.
fn parts(all: Vec<Stmt>, options: &Options) -> Result<Parts> {
    let (mut fields, mut values, mut statements) = (Vec::new(), Vec::new(), Vec::new());
    for statement in all {
        match statement {
            Stmt::Local(local) if statements.is_empty() => match declared(&local, options)? {
                Some(new) => fields.extend(new),
                None => values.push(local.into_token_stream()),
            },
            other if options.leaf => values.push(other.into_token_stream()),
            other => statements.push(other),
        }
    }
    Ok((fields, values, statements))
}

//! Loops over names, written out before anything else is read.
//!
//!     for PAD in [t0, t1] {                  ⇒    t0.write = t0_port.write;
//!         PAD.write = PAD_port.write;             t1.write = t1_port.write;
//!     }
//!
//! `any!(PAD in TEMPORARIES, write_PAD)` is `write_t0 || write_t1`, and `all!` the same with `&&`. What is replaced is a name in capitals, alone or as a part of others; `for (PAD, BIT) in names![t0 2, t1 3]` has several. A name in capitals behind
//! `in` is one of [`LISTS`].

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::quote;
use syn::Error;
use syn::parse::Result;

/// Names that many blocks go through. `hdl` compares the pads with those of the instruction set.
const LISTS: &[(&str, &str)] = &[
    ("PADS", "model, data, t0, t1"),
    ("RESULTS", "model, t0, t1"),
    ("TEMPORARIES", "t0, t1"),
    ("FURTHER", "t1"),
    // Loops of an instruction, outermost first; those around the innermost; parts of an address.
    ("LEVELS", "0, 1, 2, 3, 4, 5"),
    ("OUTER", "0, 1, 2, 3, 4"),
    ("ADDRESS", "base, delta0, delta1, delta2, delta3, delta4, delta5"),
];

/// Tokens without loops over names.
pub(crate) fn unrolled(tokens: TokenStream) -> Result<TokenStream> {
    let (tokens, mut out): (Vec<TokenTree>, _) = (tokens.into_iter().collect(), Vec::new());
    let mut rest = tokens.as_slice();
    while let [first, after @ ..] = rest {
        rest = after;
        let is_loop = is(first, "for") && after.get(1).is_some_and(|word| is(word, "in"));
        if is_loop && names(&after[0]).iter().all(is_place) {
            let (places, list) = (names(&after[0]), &after[2..]);
            // `names![..]` is a list that rustfmt leaves as it is.
            let list = if is(&list[0], "names") { &list[2..] } else { list };
            let (TokenTree::Group(body), behind) = (&list[1], &list[2..]) else {
                return Err(Error::new(list[1].span(), "a loop over names has a body"));
            };
            let values = listed(&list[0])?;
            if !values.len().is_multiple_of(places.len()) {
                return Err(Error::new(list[0].span(), format!("not {} names in each round", places.len())));
            }
            for values in values.chunks(places.len()) {
                let round: Vec<_> = places.iter().map(ToString::to_string).zip(values.to_vec()).collect();
                out.push(unrolled(filled(body.stream(), &round))?);
            }
            rest = behind;
        } else if let (Some(operator), [TokenTree::Punct(bang), TokenTree::Group(list), behind @ ..]) =
            (operator(first), after)
            && bang.as_char() == '!'
        {
            out.push(joined(list, &operator)?);
            rest = behind;
        } else if let TokenTree::Group(group) = first {
            out.push(TokenTree::Group(like(group, unrolled(group.stream())?)).into());
        } else {
            out.push(first.clone().into());
        }
    }
    Ok(out.into_iter().collect())
}

/// What `any!` and `all!` stand for.
fn operator(name: &TokenTree) -> Option<TokenStream> {
    match () {
        () if is(name, "any") => Some(quote!(||)),
        () if is(name, "all") => Some(quote!(&&)),
        () => None,
    }
}

/// `PAD in [t0, t1], write_PAD` as `write_t0 || write_t1`, or with `&&`.
fn joined(list: &Group, operator: &TokenStream) -> Result<TokenStream> {
    let tokens: Vec<TokenTree> = list.stream().into_iter().collect();
    let [place, _, names, term @ ..] = tokens.as_slice() else {
        return Err(Error::new(list.span(), "write `any!(NAME in LIST, term)` or `all!(..)`"));
    };
    let term: TokenStream = term[1..].iter().cloned().collect();
    let rounds = listed(names)?.into_iter().map(|name| filled(term.clone(), &[(place.to_string(), name)]));
    let next = |(n, round)| if n == 0 { round } else { quote!(#operator #round) };
    Ok(rounds.enumerate().map(next).collect())
}

fn is(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(name) if name == word)
}

/// The names in brackets, without commas; a name stands for itself.
fn names(tokens: &TokenTree) -> Vec<TokenTree> {
    match tokens {
        TokenTree::Group(group) => group.stream().into_iter().flat_map(|token| names(&token)).collect(),
        TokenTree::Punct(_) => Vec::new(),
        name => vec![name.clone()],
    }
}

fn is_place(name: &TokenTree) -> bool {
    name.to_string().chars().all(|c| c.is_ascii_uppercase())
}

/// What a list holds.
fn listed(list: &TokenTree) -> Result<Vec<TokenTree>> {
    let TokenTree::Ident(name) = list else { return Ok(names(list)) };
    let (_, names) = LISTS
        .iter()
        .find(|(list, _)| name == list)
        .ok_or_else(|| Error::new(list.span(), format!("`{name}` is not a list of names")))?;
    let named = |token: TokenTree| {
        let mut token = token;
        token.set_span(list.span());
        token
    };
    Ok(names
        .parse::<TokenStream>()?
        .into_iter()
        .filter(|token| !matches!(token, TokenTree::Punct(_)))
        .map(named)
        .collect())
}

fn like(group: &Group, stream: TokenStream) -> Group {
    let mut new = Group::new(group.delimiter(), stream);
    new.set_span(group.span());
    new
}

fn filled(tokens: TokenStream, round: &[(String, TokenTree)]) -> TokenStream {
    let token = |token: TokenTree| -> TokenStream {
        match token {
            TokenTree::Group(group) => TokenTree::Group(like(&group, filled(group.stream(), round))).into(),
            TokenTree::Ident(name) => named(&name, round),
            other => other.into(),
        }
    };
    tokens.into_iter().map(token).collect()
}

/// A place, or a name with a place in it that no other capital stands beside.
fn named(name: &Ident, round: &[(String, TokenTree)]) -> TokenStream {
    let mut text = name.to_string();
    for (place, value) in round {
        if text == *place {
            return value.clone().into();
        }
        let is_capital = |c: Option<char>| c.is_some_and(|c| c.is_ascii_uppercase());
        let alone = |at: &usize| {
            !is_capital(text[..*at].chars().next_back()) && !is_capital(text[at + place.len()..].chars().next())
        };
        if let Some(at) = text.match_indices(place.as_str()).map(|(at, _)| at).find(alone) {
            text.replace_range(at..at + place.len(), &value.to_string());
        }
    }
    TokenTree::Ident(Ident::new(&text, name.span())).into()
}

//! `#[derive(OneOf)]`: an enum whose variants are keys of a table.

use crate::{doc_of, kebab, Said};
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Ident, LitStr};

/// A variant of an enum of keys: what adds it to `cases`, and its arm of `pairs`.
fn case_of(ident: &Ident, variant: &syn::Variant) -> Result<[Tokens; 2], Error> {
    let said = Said::of(&variant.attrs)?;
    let (name, doc) = (&variant.ident, doc_of(&variant.attrs));
    let key = said.key.as_ref().map_or_else(|| kebab(&name.to_string()).replace('-', "_"), LitStr::value);
    let fields: Vec<_> = variant.fields.iter().map(|f| &f.ident).collect();
    Ok(match &variant.fields {
        Fields::Unnamed(_) if said.flatten => [
            quote! { cases.extend(__d::inside(#ident::#name)); },
            quote! { #ident::#name(one) => __s::OneOf::pairs(one), },
        ],
        Fields::Unnamed(_) => [
            quote! { cases.push(__d::case(#key, #doc, #ident::#name)); },
            quote! { #ident::#name(value) => ::std::vec![(#key, __s::Parameter::write(value))], },
        ],
        Fields::Named(named) if said.model => {
            let beside = format!("{key}_parameters");
            let docs: Vec<_> = named.named.iter().skip(1).map(|f| doc_of(&f.attrs)).collect();
            let make = quote! { |name, parameters| #ident::#name { name, parameters } };
            [
                quote! { cases.push(__d::named_model([#key, #beside], [#doc, #(#docs),*], #make)); },
                quote! { #ident::#name { name, parameters } => {
                    let beside = if parameters.is_empty() { __d::Null } else { __s::Parameter::write(parameters) };
                    ::std::vec![(#key, __s::Parameter::write(name)), (#beside, beside)]
                } },
            ]
        }
        Fields::Named(named) => {
            let named = &named.named;
            let table = quote! { #[derive(::core::clone::Clone, __s::Table)] struct #name { #named } };
            [
                quote! { #table cases.push(__d::case(#key, #doc, |#name { #(#fields),* }| #ident::#name { #(#fields),* })); },
                quote! { #ident::#name { #(#fields),* } => {
                    #table
                    let table = #name { #(#fields: ::core::clone::Clone::clone(#fields)),* };
                    ::std::vec![(#key, __s::Parameter::write(&table))]
                } },
            ]
        }
        Fields::Unit => return Err(Error::new(variant.span(), "a variant needs a value")),
    })
}

pub fn one_of(input: &DeriveInput) -> Result<Tokens, Error> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.span(), "OneOf is derived for enums"));
    };
    let none = input.attrs.iter().find(|a| a.path().is_ident("one_of"));
    let none = none.map_or_else(|| Ok("nothing".into()), |a| a.parse_args::<LitStr>().map(|text| text.value()))?;
    let (ident, name, doc) = (&input.ident, input.ident.to_string(), doc_of(&input.attrs));
    let variants: Vec<[Tokens; 2]> = data.variants.iter().map(|v| case_of(ident, v)).collect::<Result<_, _>>()?;
    let [cases, pairs] = [0, 1].map(|i| variants.iter().map(move |v| &v[i]));
    Ok(quote! {
        const _: () = {
            use ::headstack_schema as __s;
            use ::headstack_schema::derived as __d;
            impl __s::OneOf for #ident {
                const ABOUT: [&'static str; 3] = [#name, #doc, #none];
                fn cases() -> ::std::vec::Vec<__s::Case<Self>> {
                    let mut cases = ::std::vec::Vec::new();
                    #(#cases)*
                    cases
                }
                fn pairs(&self) -> ::std::vec::Vec<(&'static str, __d::serde_json::Value)> {
                    match self { #(#pairs)* }
                }
            }
        };
    })
}

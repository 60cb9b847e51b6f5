//! `#[derive(Table)]`, `#[derive(Choice)]` and `#[derive(Columns)]` of `headstack-schema`: what a struct of parameters
//! or an enum of words declares becomes its reading, writing and documentation; what a table of results declares, its type.
//!
//! # Attributes of a field
//! | `#[param(...)]` | means |
//! |---|---|
//! | `default` | left out, it is the type's default |
//! | `default = VALUE` | left out, it is this |
//! | `range = A..=B` | its bounds; those of the entries where it is a list |
//! | `of = TYPE` | what the bounds apply to, where the field's own type is neither that nor a list of it |
//! | `with = ADAPTER` | files write it as this adapter says |
//! | `alias = "KEY"` | another key for it |
//! | `need = "..."` | what a message says is needed where it is missing |
//! | `omit = FUNCTION` | files leave out a value for which this is true |
//! | `rest = "..."` | takes all other keys of the table; what they are |
//! | `flatten` | a table of its own whose keys stand in this one |
//! | `kind = KIND` | what it may be, where its type does not say it: the name of a model, its parameters |
//! | `skip` | never in a file: the type's default |
//!
//! `#[table(defaults)]` on the struct means that every key may be left out: its default is the one that the field
//! declares, or its type's. These are also the struct's `Default`, which is derived. `#[table(default)]` takes what
//! is left out from a `Default` that is written by hand. `#[table(check = FUNCTION)]` calls a function on the table
//! after it was read, `#[table(before = FUNCTION)]` one on the raw table before that.
//!
//! `#[table(model = "SUMMARY", example = "TOML")]` is for the parameters of a model of which `plugins!` makes an entry.
//! Without `example` all keys may be left out. `build = FUNCTION` makes the model of them and of what it is built for;
//! without it they are the model themselves. `facts = VALUE` is what is known of it before, `complete = FUNCTION` fills in
//! defaults that depend on other parameters.
//!
//! An enum is one of several tables: `#[table(tag = "KEY")]` names the key whose word says which. Each variant has
//! the attributes of a struct's fields.
//!
//! An enum with `OneOf` is one of several keys of a table, each with its value. `#[one_of("...")]` says what a table without
//! any of them has got: "nothing". The key is the variant in snake case, or `#[param(key = "KEY")]`; a variant with named fields has a
//! table of them, one with `#[param(model)]` the name of a model of the kind that is its key, with the model's parameters
//! beside it; with `#[param(flatten)]` it is another such enum.
//!
//! Words of a `Choice` are the variants in kebab case; `#[choice("word")]` on a variant names another.
//!
//! `Columns` are the fields of a struct that serde writes. Its table has the struct's name without `Result`, or that of
//! `#[columns("NAME")]`. `#[columns(null)]` on a field: a number that may not exist; `#[columns(kind = KIND)]`: what it
//! holds, where its type does not say it.

mod columns;
mod one_of;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{quote, ToTokens};
use syn::spanned::Spanned;
use syn::{
    parse_macro_input, Attribute, Data, DeriveInput, Error, Expr, Field, Fields, Ident, Lit, LitStr, Meta, Path, Type,
};

/// Derives `Table` and `Parameter` for a struct of parameters, and serde's traits by way of them.
#[proc_macro_derive(Table, attributes(param, table))]
pub fn table(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    table_of(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `Choice` and `Parameter` for an enum of words, and serde's traits by way of them.
#[proc_macro_derive(Choice, attributes(choice))]
pub fn choice(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    choice_of(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `OneOf`, and by way of it `Table`, for an enum of keys.
#[proc_macro_derive(OneOf, attributes(param, one_of))]
pub fn one_of_keys(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    one_of::one_of(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `Column` for a table of results.
#[proc_macro_derive(Columns, attributes(columns))]
pub fn columns(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    columns::columns_of(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// The sentences of doc comments: lines joined, paragraphs after the first left out.
fn doc_of(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        let Meta::NameValue(pair) = &attribute.meta else {
            continue;
        };
        let Expr::Lit(syn::ExprLit { lit: Lit::Str(line), .. }) = &pair.value else {
            continue;
        };
        let line = line.value();
        let line = line.trim();
        if line.is_empty() && !text.is_empty() {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line);
    }
    text
}

/// What `#[param(...)]` says of a field.
#[derive(Default)]
struct Said {
    default: Option<Option<Expr>>,
    range: Option<Expr>,
    of: Option<Type>,
    with: Option<Type>,
    alias: Option<LitStr>,
    need: Option<Expr>,
    omit: Option<Expr>,
    rest: Option<LitStr>,
    kind: Option<Expr>,
    key: Option<LitStr>,
    model: bool,
    flatten: bool,
    skip: bool,
}

impl Said {
    fn of(attributes: &[Attribute]) -> Result<Said, Error> {
        let mut said = Said::default();
        for attribute in attributes.iter().filter(|a| a.path().is_ident("param")) {
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.to_token_stream().to_string();
                match name.as_str() {
                    "default" if meta.input.peek(syn::Token![=]) => {
                        said.default = Some(Some(meta.value()?.parse()?));
                    }
                    "default" => said.default = Some(None),
                    "range" => said.range = Some(meta.value()?.parse()?),
                    "of" => said.of = Some(meta.value()?.parse()?),
                    "with" => said.with = Some(meta.value()?.parse()?),
                    "alias" => said.alias = Some(meta.value()?.parse()?),
                    "need" => said.need = Some(meta.value()?.parse()?),
                    "omit" => said.omit = Some(meta.value()?.parse()?),
                    "rest" => said.rest = Some(meta.value()?.parse()?),
                    "kind" => said.kind = Some(meta.value()?.parse()?),
                    "key" => said.key = Some(meta.value()?.parse()?),
                    "model" => said.model = true,
                    "flatten" => said.flatten = true,
                    "skip" => said.skip = true,
                    _ => return Err(meta.error("an attribute that param does not know")),
                }
                Ok(())
            })?;
        }
        Ok(said)
    }
}

/// What `#[table(...)]` says of a struct.
#[derive(Default)]
struct Whole {
    default: bool,
    before: Option<Path>,
    defaults: bool,
    check: Option<Path>,
    tag: Option<LitStr>,
    model: Option<LitStr>,
    example: Option<LitStr>,
    facts: Option<Expr>,
    build: Option<Expr>,
    complete: Option<Path>,
}

impl Whole {
    fn of(input: &DeriveInput) -> Result<Whole, Error> {
        let mut whole = Whole::default();
        for attribute in input.attrs.iter().filter(|a| a.path().is_ident("table")) {
            attribute.parse_nested_meta(|meta| {
                match meta.path.to_token_stream().to_string().as_str() {
                    "default" => whole.default = true,
                    "defaults" => whole.defaults = true,
                    "check" => whole.check = Some(meta.value()?.parse()?),
                    "before" => whole.before = Some(meta.value()?.parse()?),
                    "tag" => whole.tag = Some(meta.value()?.parse()?),
                    "model" => whole.model = Some(meta.value()?.parse()?),
                    "example" => whole.example = Some(meta.value()?.parse()?),
                    "facts" => whole.facts = Some(meta.value()?.parse()?),
                    "build" => whole.build = Some(meta.value()?.parse()?),
                    "complete" => whole.complete = Some(meta.value()?.parse()?),
                    _ => return Err(meta.error("an attribute that table does not know")),
                }
                Ok(())
            })?;
        }
        Ok(whole)
    }
}

/// The code of one field.
struct Parts {
    name: Ident,
    /// The key and its alias; none for `rest`, `flatten` and `skip`.
    keys: Vec<String>,
    /// Of `flatten`: the type whose keys stand in the table.
    inner: Option<Type>,
    read: Tokens,
    write: Tokens,
    /// Entries for `check_each`.
    checks: Tokens,
    /// Its default as a value, where the struct has them all.
    default: Tokens,
    /// Its entry for `fields_of`.
    described: Tokens,
}

fn parts_of(field: &Field, whole: &Whole) -> Result<Parts, Error> {
    let said = Said::of(&field.attrs)?;
    let name = field.ident.clone();
    let name = name.ok_or_else(|| Error::new(field.span(), "a field without a name"))?;
    let ty = &field.ty;
    if let Some(parts) = parts_without_key(&said, &name, ty) {
        return Ok(parts);
    }
    let key = name.to_string();
    let key = key.strip_prefix("r#").unwrap_or(&key).to_string();
    let alias = option(said.alias.as_ref());
    let way = way_of(&said, ty);
    let kind = match &said.kind {
        Some(kind) => quote! { || #kind },
        None => quote! { #way::kind },
    };
    let default = match &said.default {
        Some(Some(value)) => quote! { #value },
        _ => quote! { ::core::default::Default::default() },
    };
    let (absent, usual) = default_of(&said, whole, &name, ty);
    let need = said.need.clone().unwrap_or_else(|| syn::parse_quote!("a value"));
    let place = quote! { &__d::Key { key: #key, alias: #alias, need: #need } };
    let of = said.of.as_ref().unwrap_or_else(|| innermost(ty));
    let range = said.range.iter();
    let within = range.map(|range| quote! { (#key, &__d::Within::<#of, #ty>(&self.#name, #range)), });
    let inside = said.with.is_none().then(|| quote! { (#key, &self.#name), });
    let checks = quote! { #(#within)* #inside };
    let bounds = option(said.range.as_ref().map(|range| quote! { || __s::Bounds::of::<#of>(&(#range)) }));
    let read = match &said.range {
        Some(range) => quote! { __d::take_within::<#of, #ty>(table, #place, #absent, #way::read, &(#range))? },
        None => quote! { __d::take::<#ty>(table, #place, #absent, #way::read)? },
    };
    let write = quote! { __d::put(&mut table, #key, #way::write(&self.#name)); };
    let write = match &said.omit {
        Some(omit) => quote! { if !(#omit)(&self.#name) { #write } },
        None => write,
    };
    let doc = doc_of(&field.attrs);
    let mut keys = vec![key.clone()];
    keys.extend(said.alias.iter().map(LitStr::value));
    Ok(Parts {
        read: quote! { let #name: #ty = #read; },
        write,
        checks,
        default,
        described: quote! {
            __d::Described::Field { key: (#key, #alias), doc: #doc, kind: #kind, usual: #usual, bounds: #bounds },
        },
        keys,
        inner: None,
        name,
    })
}

/// An option in generated code.
fn option(value: Option<impl ToTokens>) -> Tokens {
    match value {
        Some(value) => quote! { ::core::option::Option::Some(#value) },
        None => quote! { ::core::option::Option::None },
    }
}

/// What reads and writes a field: its adapter, or its type.
fn way_of(said: &Said, ty: &Type) -> Tokens {
    match &said.with {
        Some(with) => quote! { <#with as __s::Adapter<#ty>> },
        None => quote! { <#ty as __s::Parameter> },
    }
}

/// The parts of a field that is no key: one that is skipped, the rest of the keys, or a table whose keys stand in this one.
fn parts_without_key(said: &Said, name: &Ident, ty: &Type) -> Option<Parts> {
    let parts = Parts {
        read: quote! { let #name: #ty = ::core::default::Default::default(); },
        write: Tokens::new(),
        checks: Tokens::new(),
        default: quote! { ::core::default::Default::default() },
        described: Tokens::new(),
        keys: Vec::new(),
        inner: None,
        name: name.clone(),
    };
    if said.skip {
        return Some(parts);
    }
    if said.rest.is_some() {
        return Some(Parts {
            read: quote! { let #name = __d::rest_of(table, Self::KEYS, others); },
            write: quote! { __d::write_field(&mut table, &self.#name); },
            ..parts
        });
    }
    said.flatten.then(|| Parts {
        // That no key is unknown was found out before.
        read: quote! { let #name = <#ty as __s::Table>::read_beside(&beside, table)?; },
        write: quote! {
            if let __d::serde_json::Value::Object(inner) = __s::Parameter::write(&self.#name) {
                __d::write_field(&mut table, &inner);
            }
        },
        checks: quote! { ("", &self.#name), },
        described: quote! { __d::Described::Inside(<#ty as __s::Table>::fields), },
        inner: Some(ty.clone()),
        ..parts
    })
}

/// The default of a field: functions that return it as an `Option`, and as it is shown.
fn default_of(said: &Said, whole: &Whole, name: &Ident, ty: &Type) -> (Tokens, Tokens) {
    let way = way_of(said, ty);
    let some = |value: Tokens| {
        let absent = quote! { || ::core::option::Option::Some(#value) };
        let usual = quote! { || {
            let value: #ty = #value;
            __d::usual_of(#way::write(&value))
        } };
        (absent, usual)
    };
    match (&said.default, whole.default) {
        (Some(Some(value)), _) => some(quote! { #value }),
        (Some(None), _) => some(quote! { <#ty as ::core::default::Default>::default() }),
        (None, false) if whole.defaults => some(quote! { <#ty as ::core::default::Default>::default() }),
        (None, true) => some(quote! { <Self as ::core::default::Default>::default().#name }),
        (None, false) if is_option(ty) => (
            quote! { || ::core::option::Option::Some(::core::option::Option::None) },
            quote! { || __s::Usual::Nothing },
        ),
        (None, false) if said.with.is_some() => {
            (quote! { || ::core::option::Option::None }, quote! { || __s::Usual::Required })
        }
        (None, false) => (quote! { <#ty as __s::Parameter>::if_absent }, quote! { <#ty as __s::Parameter>::usual }),
    }
}

/// The type to which bounds apply: that inside lists and options.
fn innermost(ty: &Type) -> &Type {
    let inside = match ty {
        Type::Array(array) => Some(&*array.elem),
        Type::Path(path) => path.path.segments.last().and_then(|segment| {
            let holds = segment.ident == "Option" || segment.ident == "Vec";
            match &segment.arguments {
                syn::PathArguments::AngleBracketed(inside) if holds => {
                    inside.args.iter().find_map(|argument| match argument {
                        syn::GenericArgument::Type(ty) => Some(ty),
                        _ => None,
                    })
                }
                _ => None,
            }
        }),
        _ => None,
    };
    inside.map_or(ty, innermost)
}

fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|s| s.ident == "Option")
}

fn table_of(input: &DeriveInput) -> Result<Tokens, Error> {
    let data = match &input.data {
        Data::Struct(data) => data,
        Data::Enum(data) => return tables_of(input, data),
        Data::Union(_) => return Err(Error::new(input.span(), "Table is not derived for unions")),
    };
    if let Fields::Unnamed(_) = &data.fields {
        return Err(Error::new(input.span(), "Table needs fields with names"));
    }
    let whole = Whole::of(input)?;
    let mut parts = Vec::new();
    let mut others = None;
    for field in &data.fields {
        others = Said::of(&field.attrs)?.rest.or(others);
        parts.push(parts_of(field, &whole)?);
    }
    let ident = &input.ident;
    let keys: Vec<&String> = parts.iter().flat_map(|p| &p.keys).collect();
    let parameter = parameter_of(input, &whole, &parts);
    let table = table_body(input, &whole, &parts, others.as_ref());
    let (generics, types, bounds) = input.generics.split_for_impl();
    let serde = serde_by_way(ident, &input.generics);
    let default = whole.defaults.then(|| {
        let fields = parts.iter().map(|Parts { name, default, .. }| quote! { #name: #default });
        quote! {
            impl #generics ::core::default::Default for #ident #types #bounds {
                fn default() -> Self {
                    #ident { #(#fields),* }
                }
            }
        }
    });
    let model = model_of(&whole);
    Ok(quote! {
        const _: () = {
            use ::headstack_schema as __s;
            use ::headstack_schema::derived as __d;
            #default
            impl #generics #ident #types #bounds {
                /// The keys of its parameters.
                #[allow(dead_code)]
                pub(crate) const KEYS: &'static [&'static str] = &[#(#keys),*];
                #model
            }
            #parameter
            #table
            #serde
        };
    })
}

/// The entry that `plugins!` makes of the parameters of a model.
fn model_of(whole: &Whole) -> Option<Tokens> {
    let (summary, example) = (whole.model.as_ref()?, whole.example.as_ref().map_or(String::new(), LitStr::value));
    let facts = whole.facts.as_ref().map_or(quote! { () }, ToTokens::to_token_stream);
    let itself = quote! { |model, _| ::core::result::Result::Ok(::std::boxed::Box::new(model)) };
    let build = whole.build.as_ref().map_or(itself, ToTokens::to_token_stream);
    let complete = whole.complete.iter();
    Some(quote! {
        /// Its entry under this name in the list of its folder.
        pub(crate) fn plugin(name: ::std::string::String) -> __s::Plugin<super::ModelOfFolder> {
            __s::Plugin::<super::ModelOfFolder>::with_facts::<Self>(name, #summary, #example, #facts, #build)
                #(.completed_by(#complete))*
        }
    })
}

/// `Parameter` of a table.
fn parameter_of(input: &DeriveInput, whole: &Whole, parts: &[Parts]) -> Tokens {
    let (generics, types, bounds) = input.generics.split_for_impl();
    let ident = &input.ident;
    let writes = parts.iter().map(|p| &p.write);
    let checks = parts.iter().map(|p| &p.checks);
    let check = whole.check.as_ref();
    let check_of_self = check.map(|check| quote! { #check(self)?; });
    quote! {
        impl #generics __s::Parameter for #ident #types #bounds {
            fn kind() -> __s::Kind {
                __s::Kind::Table(<Self as __s::Table>::schema())
            }
            fn read(
                value: &__d::serde_json::Value,
            ) -> ::core::result::Result<Self, __s::SpecError> {
                match value {
                    __d::serde_json::Value::Object(table) => {
                        <Self as __s::Table>::read_beside(&[], table)
                    }
                    other => ::core::result::Result::Err(__s::wrong_kind(other, "a table")),
                }
            }
            fn write(&self) -> __d::serde_json::Value {
                let mut table = __s::Params::new();
                #(#writes)*
                __d::serde_json::Value::Object(table)
            }
            fn check(&self) -> ::core::result::Result<(), __s::SpecError> {
                __d::check_each(&[#(#checks)*])?;
                #check_of_self
                ::core::result::Result::Ok(())
            }
        }
    }
}

/// `Table` of a table.
fn table_body(input: &DeriveInput, whole: &Whole, parts: &[Parts], others: Option<&LitStr>) -> Tokens {
    let (generics, types, bounds) = input.generics.split_for_impl();
    let ident = &input.ident;
    let name = ident.to_string();
    let doc = doc_of(&input.attrs);
    let unknown = others.is_none().then(|| quote! { __d::unknown_keys(table, &known, others)?; });
    let others = option(others);
    let has_inner = parts.iter().any(|p| p.inner.is_some());
    let each = parts.iter().map(|Parts { keys, inner, .. }| match inner {
        Some(inner) => quote! { known.extend(__d::keys_of::<#inner>()); },
        None => quote! { #(known.push(#keys);)* },
    });
    let known = match has_inner {
        false => quote! { let known = Self::KEYS; },
        true => quote! {
            let mut known = ::std::vec::Vec::<&str>::new();
            #(#each)*
            let beside = [others, &known].concat();
        },
    };
    let before = whole.before.as_ref();
    let before = before.map(|before| quote! { #before(table)?; });
    let check = whole.check.as_ref();
    let check_when_read = check.map(|check| quote! { #check(&read)?; });
    let reads = parts.iter().map(|p| &p.read);
    let names = parts.iter().map(|p| &p.name);
    let described = parts.iter().map(|p| &p.described);
    quote! {
        impl #generics __s::Table for #ident #types #bounds {
            fn fields() -> ::std::vec::Vec<__s::Field> {
                __d::fields_of(&[#(#described)*])
            }
            fn schema() -> __s::TableSchema {
                let fields = <Self as __s::Table>::fields();
                let doc = if #doc.is_empty() && fields.is_empty() { "No parameters." } else { #doc };
                __s::TableSchema { name: #name, doc, fields, others: #others }
            }
            fn read_beside(
                others: &[&str],
                table: &__s::Params,
            ) -> ::core::result::Result<Self, __s::SpecError> {
                #before
                #known
                #unknown
                #(#reads)*
                let read = #ident { #(#names),* };
                #check_when_read
                ::core::result::Result::Ok(read)
            }
        }
    }
}

/// The code of a variant of an enum, which is a struct of its own that reads and writes itself: its word, the struct, its
/// kind, and its arms where the enum is read, written and checked.
fn variant_of(input: &DeriveInput, tag: &LitStr, variant: &syn::Variant) -> Result<[Tokens; 6], Error> {
    let Fields::Named(fields) = &variant.fields else {
        return Err(Error::new(variant.span(), "a variant needs fields with names"));
    };
    let (with_bounds, types, bounds) = input.generics.split_for_impl();
    let turbofish = types.as_turbofish();
    let word = kebab(&variant.ident.to_string());
    let (ident, name, attributes, fields) = (&input.ident, &variant.ident, &variant.attrs, &fields.named);
    let names: Vec<_> = fields.iter().map(|f| &f.ident).collect();
    let inner = quote! { #name #turbofish { #(#names: ::core::clone::Clone::clone(#names)),* } };
    let arm = |value: Tokens| quote! { #ident::#name { #(#names),* } => #value, };
    Ok([
        quote! { #word },
        quote! { #(#attributes)* #[derive(__s::Table)] struct #name #with_bounds #bounds { #fields } },
        quote! { __d::tagged(#tag, #word, <#name #types as __s::Table>::schema()) },
        quote! {
            #word => {
                let #name { #(#names),* } = <#name #types as __s::Table>::read_beside(&[#tag], table)?;
                ::core::result::Result::Ok(#ident::#name { #(#names),* })
            }
        },
        arm(quote! { __d::write_tagged(#tag, #word, __s::Parameter::write(&#inner)) }),
        arm(quote! { __s::Parameter::check(&#inner) }),
    ])
}

/// The code of an enum: one of several tables.
fn tables_of(input: &DeriveInput, data: &syn::DataEnum) -> Result<Tokens, Error> {
    let tag = Whole::of(input)?.tag;
    let tag = tag.ok_or_else(|| Error::new(input.span(), "an enum needs #[table(tag = ...)]"))?;
    let (ident, generics) = (&input.ident, &input.generics);
    let (with_bounds, types, bounds) = generics.split_for_impl();
    let serde = serde_by_way(ident, generics);
    let variants: Vec<[Tokens; 6]> =
        data.variants.iter().map(|v| variant_of(input, &tag, v)).collect::<Result<_, _>>()?;
    let [words, structs, kinds, reads, writes, checks] =
        [0, 1, 2, 3, 4, 5].map(|i| variants.iter().map(move |v| &v[i]));
    Ok(quote! {
        const _: () = {
            use ::headstack_schema as __s;
            use ::headstack_schema::derived as __d;
            #(#structs)*
            impl #with_bounds __s::Parameter for #ident #types #bounds {
                fn kind() -> __s::Kind {
                    __s::Kind::OneOf(::std::vec![#(#kinds),*])
                }
                fn read(
                    value: &__d::serde_json::Value,
                ) -> ::core::result::Result<Self, __s::SpecError> {
                    const WORDS: &[&str] = &[#(#words),*];
                    let __d::serde_json::Value::Object(table) = value else {
                        return ::core::result::Result::Err(__s::wrong_kind(value, "a table"));
                    };
                    match __d::tag_of(table, #tag, WORDS)? {
                        #(#reads)*
                        other => ::core::result::Result::Err(__d::unknown_name(#tag, other, WORDS)),
                    }
                }
                fn write(&self) -> __d::serde_json::Value {
                    match self { #(#writes)* }
                }
                fn check(&self) -> ::core::result::Result<(), __s::SpecError> {
                    match self { #(#checks)* }
                }
            }
            #serde
        };
    })
}

/// Serde's traits by way of [`Parameter`], for documents that are read and written as a whole.
fn serde_by_way(ident: &Ident, generics: &syn::Generics) -> Tokens {
    let (impl_generics, types, bounds) = generics.split_for_impl();
    let mut with_lifetime = generics.clone();
    with_lifetime.params.insert(0, syn::parse_quote!('de));
    let (de_generics, _, _) = with_lifetime.split_for_impl();
    quote! {
        impl #impl_generics __d::serde::Serialize for #ident #types #bounds {
            fn serialize<S: __d::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                let value = __s::Parameter::write(self);
                __d::serde::Serialize::serialize(&value, serializer)
            }
        }
        impl #de_generics __d::serde::Deserialize<'de> for #ident #types #bounds {
            fn deserialize<D: __d::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                let value = <__d::serde_json::Value as __d::serde::Deserialize>::deserialize(
                    deserializer,
                )?;
                <Self as __s::Parameter>::read(&value)
                    .map_err(<D::Error as __d::serde::de::Error>::custom)
            }
        }
    }
}

fn choice_of(input: &DeriveInput) -> Result<Tokens, Error> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.span(), "Choice is derived for enums"));
    };
    let ident = &input.ident;
    let mut words = Vec::new();
    let mut arms = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new(variant.span(), "Choice needs variants without fields"));
        }
        let named = variant.attrs.iter().find(|a| a.path().is_ident("choice"));
        let word = match named {
            Some(attribute) => attribute.parse_args::<LitStr>()?.value(),
            None => kebab(&variant.ident.to_string()),
        };
        let doc = doc_of(&variant.attrs);
        let name = &variant.ident;
        words.push(quote! { (#word, #doc, #ident::#name) });
        arms.push(quote! { #ident::#name => #word });
    }
    let generics = syn::Generics::default();
    let serde = serde_by_way(ident, &generics);
    Ok(quote! {
        const _: () = {
            use ::headstack_schema as __s;
            use ::headstack_schema::derived as __d;
            impl __s::Choice for #ident {
                const WORDS: &'static [(&'static str, &'static str, Self)] = &[#(#words),*];
                fn word(self) -> &'static str {
                    match self { #(#arms),* }
                }
            }
            impl __s::Parameter for #ident {
                fn kind() -> __s::Kind {
                    __d::choice_kind::<Self>()
                }
                fn read(
                    value: &__d::serde_json::Value,
                ) -> ::core::result::Result<Self, __s::SpecError> {
                    __d::choice_read(value)
                }
                fn write(&self) -> __d::serde_json::Value {
                    __s::Choice::word(*self).into()
                }
            }
            #serde
        };
    })
}

/// `CamelCase` as `kebab-case`.
fn kebab(name: &str) -> String {
    let mut word = String::new();
    for (i, c) in name.chars().enumerate() {
        if c.is_uppercase() && i > 0 {
            word.push('-');
        }
        word.extend(c.to_lowercase());
    }
    word
}

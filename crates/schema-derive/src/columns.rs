//! `#[derive(Columns)]`: the type of a table of results.

use crate::doc_of;
use proc_macro2::TokenStream as Tokens;
use quote::{quote, ToTokens};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Expr, Field, Ident, LitStr};

/// What serde and `#[columns(...)]` say of a field of results.
#[derive(Default)]
struct Column {
    flatten: bool,
    skip: bool,
    can_be_absent: bool,
    null: bool,
    kind: Option<Expr>,
}

impl Column {
    fn of(field: &Field) -> Result<Column, Error> {
        let mut column = Column::default();
        for attribute in &field.attrs {
            let of_serde = attribute.path().is_ident("serde");
            if !of_serde && !attribute.path().is_ident("columns") {
                continue;
            }
            attribute.parse_nested_meta(|meta| {
                match (of_serde, meta.path.to_token_stream().to_string().as_str()) {
                    (true, "flatten") => column.flatten = true,
                    (true, "skip") => column.skip = true,
                    (true, "skip_serializing_if") => {
                        column.can_be_absent = true;
                        meta.value()?.parse::<LitStr>()?;
                    }
                    (false, "null") => column.null = true,
                    (false, "kind") => column.kind = Some(meta.value()?.parse()?),
                    _ => return Err(meta.error("an attribute that columns do not know")),
                }
                Ok(())
            })?;
        }
        Ok(column)
    }

    /// The statement that adds it to `columns`.
    fn code(&self, field: &Field) -> Tokens {
        let (name, of, doc) = (&field.ident, &field.ty, doc_of(&field.attrs));
        let mut kind = self.kind.as_ref().map_or_else(|| quote! { <#of as __s::Column>::kind() }, |k| quote! { #k });
        if self.flatten {
            return quote! { columns.extend(__s::ColumnKind::columns(#kind)); };
        }
        for (applies, change) in [(self.null, "or_null"), (self.can_be_absent, "or_absent")] {
            let change = Ident::new(change, field.span());
            if applies {
                kind = quote! { __s::ColumnKind::#change(#kind) };
            }
        }
        quote! {
            columns.push(__s::ColumnEntry { name: ::core::stringify!(#name), sentence: #doc, kind: #kind });
        }
    }
}

pub fn columns_of(input: &DeriveInput) -> Result<Tokens, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "Columns are derived for structs"));
    };
    let ident = &input.ident;
    let named = input.attrs.iter().find(|a| a.path().is_ident("columns"));
    let name = match named {
        Some(attribute) => attribute.parse_args::<LitStr>()?.value(),
        None => ident.to_string().trim_end_matches("Result").to_string(),
    };
    let mut statements = Vec::new();
    for field in &data.fields {
        let column = Column::of(field)?;
        if !column.skip {
            statements.push(column.code(field));
        }
    }
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(::headstack_schema::Column));
    }
    let (with_bounds, types, bounds) = generics.split_for_impl();
    let doc = doc_of(&input.attrs);
    Ok(quote! {
        const _: () = {
            use ::headstack_schema as __s;
            impl #with_bounds __s::Column for #ident #types #bounds {
                fn kind() -> __s::ColumnKind {
                    let mut columns = ::std::vec::Vec::new();
                    #(#statements)*
                    __s::ColumnKind::Table(#name, #doc, columns)
                }
            }
        };
    })
}

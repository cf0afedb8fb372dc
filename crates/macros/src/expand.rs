//! From the written function to the one that is compiled.

use crate::options::Options;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemFn, Result, ReturnType, Type};

/// The test function that runs the check. The written body becomes an inner function of its own, so that its source
/// places stay what they are; its name is one that no program uses, since it hides others of that name in the body.
pub fn expand(options: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let options: Options = syn::parse2(options)?;
    let function: ItemFn = syn::parse2(function.clone())
        .map_err(|_| Error::new_spanned(&function, "#[reweave::test] stands on a function"))?;
    refuse(&function)?;
    let ItemFn {
        attrs,
        vis,
        sig,
        block,
        ..
    } = function;
    let name = &sig.ident;
    let output = &sig.output;
    let calls = &options.calls;
    let reweave = match &options.reweave {
        Some(path) => quote!(#path),
        None => quote!(::reweave),
    };
    let expect = match &options.expect {
        Some(kind) => quote!(::core::option::Option::Some(#kind)),
        None => quote!(::core::option::Option::None),
    };
    let body = if returns_nothing(output) {
        quote!(__reweave_body)
    } else {
        quote! {
            || {
                if let ::core::result::Result::Err(error) = __reweave_body() {
                    ::core::panic!("the test returned an error: {error:?}");
                }
            }
        }
    };
    Ok(quote! {
        #(#attrs)*
        #[::core::prelude::v1::test]
        #vis fn #name() {
            fn __reweave_body() #output #block
            #reweave::__macro::run_test(
                #reweave::Builder::new()
                    .name(::core::concat!(::core::module_path!(), "::", ::core::stringify!(#name)))
                    #(#calls)*,
                #expect,
                #body,
            );
        }
    })
}

fn returns_nothing(output: &ReturnType) -> bool {
    match output {
        ReturnType::Default => true,
        ReturnType::Type(_, of) => matches!(&**of, Type::Tuple(of) if of.elems.is_empty()),
    }
}

fn refuse(function: &ItemFn) -> Result<()> {
    let sig = &function.sig;
    let wrong = |tokens: &dyn quote::ToTokens, text: &str| Err(Error::new_spanned(tokens, text));
    if let Some(word) = &sig.asyncness {
        return wrong(
            word,
            "a checked test is not async: it starts threads with reweave::thread",
        );
    }
    if let Some(word) = &sig.constness {
        return wrong(word, "a checked test is not const");
    }
    if !sig.inputs.is_empty() {
        return wrong(&sig.inputs, "a checked test takes no arguments");
    }
    if !sig.generics.params.is_empty() || sig.generics.where_clause.is_some() {
        return wrong(&sig.generics, "a checked test has no type parameters");
    }
    for attribute in &function.attrs {
        let last = attribute.path().segments.last();
        if last.is_some_and(|segment| segment.ident == "test") {
            return wrong(
                attribute,
                "#[reweave::test] is a #[test] already: leave this one out",
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(options: TokenStream, function: TokenStream, expected: TokenStream) {
        let expanded = expand(options, function).expect("a function as it should be");
        assert_eq!(expanded.to_string(), expected.to_string());
    }

    #[test]
    fn a_plain_function() {
        check(
            quote!(),
            quote! { fn handoff() { work(); } },
            quote! {
                #[::core::prelude::v1::test]
                fn handoff() {
                    fn __reweave_body() { work(); }
                    ::reweave::__macro::run_test(
                        ::reweave::Builder::new()
                            .name(::core::concat!(::core::module_path!(), "::", ::core::stringify!(handoff))),
                        ::core::option::Option::None,
                        __reweave_body,
                    );
                }
            },
        );
    }

    #[test]
    fn every_option_is_a_call() {
        check(
            quote! {
                algorithm = "dpor", workers = 2, preemptions = 3, budget = "1.5s",
                max_executions = 1_000, max_steps = 5000, spurious_wakeups, keep_going = false,
                expect = "deadlock",
            },
            quote! { #[ignore] #[should_panic(expected = "x")] pub fn t() {} },
            quote! {
                #[ignore]
                #[should_panic(expected = "x")]
                #[::core::prelude::v1::test]
                pub fn t() {
                    fn __reweave_body() {}
                    ::reweave::__macro::run_test(
                        ::reweave::Builder::new()
                            .name(::core::concat!(::core::module_path!(), "::", ::core::stringify!(t)))
                            .algorithm(::core::str::FromStr::from_str("dpor")
                                .expect("the attribute knows the algorithms"))
                            .workers(2)
                            .preemptions(3)
                            .budget(::core::time::Duration::from_millis(1500u64))
                            .max_executions(1000)
                            .max_steps(5000)
                            .spurious_wakeups(true)
                            .keep_going(false),
                        ::core::option::Option::Some("deadlock"),
                        __reweave_body,
                    );
                }
            },
        );
    }

    #[test]
    fn a_result_is_looked_at() {
        check(
            quote!(),
            quote! { fn t() -> Result<(), String> { Ok(()) } },
            quote! {
                #[::core::prelude::v1::test]
                fn t() {
                    fn __reweave_body() -> Result<(), String> { Ok(()) }
                    ::reweave::__macro::run_test(
                        ::reweave::Builder::new()
                            .name(::core::concat!(::core::module_path!(), "::", ::core::stringify!(t))),
                        ::core::option::Option::None,
                        || {
                            if let ::core::result::Result::Err(error) = __reweave_body() {
                                ::core::panic!("the test returned an error: {error:?}");
                            }
                        },
                    );
                }
            },
        );
    }

    #[track_caller]
    fn refuses(options: TokenStream, function: TokenStream, says: &str) {
        let shown = format!("{options} {function}");
        let error = expand(options, function).expect_err(&shown).to_string();
        assert!(error.contains(says), "{shown}: {error}");
    }

    #[test]
    fn wrong_functions_are_reported() {
        let cases = [
            (
                quote!(
                    async fn t() {}
                ),
                "not async",
            ),
            (
                quote!(
                    const fn t() {}
                ),
                "not const",
            ),
            (
                quote!(
                    fn t(n: u32) {}
                ),
                "no arguments",
            ),
            (
                quote!(
                    fn t<T>() {}
                ),
                "no type parameters",
            ),
            (
                quote!(
                    #[test]
                    fn t() {}
                ),
                "leave this one out",
            ),
            (
                quote!(
                    struct S;
                ),
                "stands on a function",
            ),
        ];
        for (function, says) in cases {
            refuses(quote!(), function, says);
        }
    }

    #[test]
    fn wrong_options_are_reported() {
        let cases = [
            (
                quote!(speed = 3),
                "unknown option `speed`; there are `algorithm`",
            ),
            (quote!(workers), "`workers` needs a value: a number"),
            (quote!(workers = "2"), "the value of `workers` is a number"),
            (quote!(workers = 0), "0 is out of range for `workers`"),
            (
                quote!(max_steps = 5_000_000_000),
                "5000000000 is out of range",
            ),
            (
                quote!(algorithm = "best"),
                "one of \"auto\", \"rf\", \"dfs\"",
            ),
            (
                quote!(expect = "hang"),
                "one of \"data-race\", \"deadlock\"",
            ),
            (quote!(budget = "soon"), "such as \"10s\""),
            (quote!(budget = 10), "a time such as \"10s\""),
            (quote!(keep_going = 1), "`true` or `false`"),
            (
                quote!(keep_going, keep_going),
                "`keep_going` is given twice",
            ),
        ];
        for (options, says) in cases {
            let plain = quote!(
                fn t() {}
            );
            refuses(options, plain, says);
        }
    }
}

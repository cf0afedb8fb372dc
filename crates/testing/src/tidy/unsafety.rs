//! Reasons for unsafe code: comments that name no condition, and unsafe functions that do not say what they ask for.

use super::{limits::Found, of_crates, tree::Source};
use syn::{spanned::Spanned, visit::Visit};

/// So few words name no condition ("as above").
const FEW: usize = 4;

/// The comments that begin with `SAFETY:`: their lines and words.
fn reasons(text: &str) -> Vec<(usize, usize)> {
    let comment = |line: &&str| line.trim_start().starts_with("//");
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((_, first)) = line.split_once("// SAFETY:") else {
            continue;
        };
        let more = lines[at + 1..].iter().copied().take_while(comment);
        let more =
            more.flat_map(|line| line.trim_start().trim_start_matches('/').split_whitespace());
        found.push((at + 1, first.split_whitespace().count() + more.count()));
    }
    found
}

pub fn short_reasons(sources: &[Source]) -> Vec<Found> {
    let mut found = Vec::new();
    for (package, source) in of_crates(sources).filter(|(package, _)| *package != "testing") {
        for (line, words) in reasons(&source.text) {
            if words <= FEW {
                found.push(Found {
                    rule: "short-safety-comment",
                    key: package.into(),
                    number: 1,
                    place: format!("{}:{line}", source.path),
                });
            }
        }
    }
    found
}

struct Functions(Vec<usize>);

impl Functions {
    fn function(&mut self, attributes: &[syn::Attribute], signature: &syn::Signature) {
        let says = attributes.iter().any(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) => match &pair.value {
                syn::Expr::Lit(literal) => match &literal.lit {
                    syn::Lit::Str(text) => text.value().trim() == "# Safety",
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        });
        if is_unsafe(signature) && !says {
            self.0.push(signature.span().start().line);
        }
    }
}

fn is_unsafe(signature: &syn::Signature) -> bool {
    matches!(signature.safety, syn::Safety::Unsafe(_))
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        // A trait says for all of its implementations what they ask for.
        if item.trait_.is_none() {
            for item in &item.items {
                if let syn::ImplItem::Fn(function) = item {
                    self.function(&function.attrs, &function.sig);
                }
            }
        }
        syn::visit::visit_item_impl(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.attrs, &item.sig);
        syn::visit::visit_trait_item_fn(self, item);
    }
}

pub fn undocumented_functions(sources: &[Source]) -> Vec<Found> {
    let mut found = Vec::new();
    for (package, source) in of_crates(sources).filter(|(_, source)| source.is_library()) {
        let mut functions = Functions(Vec::new());
        functions.visit_file(&source.parse());
        found.extend(functions.0.into_iter().map(|line| Found {
            rule: "undocumented-unsafe-fn",
            key: package.into(),
            number: 1,
            place: format!("{}:{line}", source.path),
        }));
    }
    found
}

#[test]
fn reasons_go_on_in_the_next_lines() {
    let text = "// SAFETY: as above.\nx();\n    // SAFETY: only one thread\n    // runs at a time.\ny(); // SAFETY: z\n";
    assert_eq!(reasons(text), [(1, 2), (3, 7), (5, 1)]);
}

#[test]
fn unsafe_functions_say_what_they_ask_for() {
    let text = "/// Does.\n///\n/// # Safety\n///\n/// `p` is valid.\nunsafe fn a(p: *const u8) {}\nunsafe fn b() {}\n\
                impl T for S { unsafe fn c() {} }\nimpl S { unsafe extern \"C\" fn d() {} fn e() {} }\n";
    let source = [Source {
        path: "crates/x/src/lib.rs".into(),
        text: text.into(),
    }];
    let places: Vec<String> = undocumented_functions(&source)
        .into_iter()
        .map(|one| one.place)
        .collect();
    assert_eq!(places, ["crates/x/src/lib.rs:7", "crates/x/src/lib.rs:9"]);
}

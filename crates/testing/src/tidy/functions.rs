//! Functions above 70 lines: each has a limit of its own, by crate and name.

use super::{limits::Found, of_crates, tree::Source};
use syn::{spanned::Spanned, visit::Visit};

/// Lines above which a function is hard to keep in one's head.
const LONGEST: usize = 70;

struct Functions<'a> {
    package: &'a str,
    path: &'a str,
    /// The type whose methods are looked at.
    owner: Option<String>,
    found: Vec<Found>,
}

impl Functions<'_> {
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let last = block.span().end().line;
        let lines = last - first + 1;
        if lines > LONGEST {
            let owner = self.owner.iter().map(|owner| format!("::{owner}"));
            let owner: String = owner.collect();
            self.found.push(Found {
                rule: "long-function",
                key: format!("{}{owner}::{}", self.package, signature.ident),
                number: lines,
                place: format!("{}:{first}", self.path),
            });
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.owner, name);
        syn::visit::visit_item_impl(self, item);
        self.owner = outer;
    }
}

pub fn long(sources: &[Source]) -> Vec<Found> {
    let mut found = Vec::new();
    for (package, source) in of_crates(sources) {
        let mut functions = Functions {
            package,
            path: &source.path,
            owner: None,
            found: Vec::new(),
        };
        functions.visit_file(&source.parse());
        found.extend(functions.found);
    }
    found
}

#[test]
fn functions_are_measured_from_their_first_line_to_their_brace() {
    let body = "    call();\n".repeat(LONGEST - 1);
    let text = format!(
        "/// Not counted.\nfn free() {{\n{body}}}\nimpl Type {{\n    fn method() {{\n{}    }}\n}}\n",
        &body["    call();\n".len()..]
    );
    let source = Source {
        path: "crates/x/src/lib.rs".into(),
        text,
    };
    let found = long(&[source]);
    let found: Vec<_> = found
        .iter()
        .map(|one| (&*one.key, one.number, &*one.place))
        .collect();
    assert_eq!(found, [("x::free", LONGEST + 1, "crates/x/src/lib.rs:2")]);
}

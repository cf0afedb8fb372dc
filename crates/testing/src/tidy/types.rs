//! Types that say too little: errors that are strings, and states of nothing in particular.

use super::{limits::Found, of_crates, tree::Source};
use syn::{spanned::Spanned, visit::Visit};

struct Types<'a> {
    strings: Vec<usize>,
    states: Vec<usize>,
    source: &'a Source,
}

impl<'ast> Visit<'ast> for Types<'_> {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if let (true, syn::PathArguments::AngleBracketed(arguments)) =
            (segment.ident == "Result", &segment.arguments)
        {
            let string = match arguments.args.iter().nth(1) {
                Some(syn::GenericArgument::Type(syn::Type::Path(path))) => {
                    let last = path.path.segments.last();
                    last.is_some_and(|last| last.ident == "String")
                }
                _ => false,
            };
            if string {
                self.strings.push(segment.span().start().line);
            }
        }
        syn::visit::visit_path_segment(self, segment);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.named(&item.ident);
        syn::visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.named(&item.ident);
        syn::visit::visit_item_enum(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.named(&item.ident);
        syn::visit::visit_item_type(self, item);
    }
}

impl Types<'_> {
    fn named(&mut self, name: &syn::Ident) {
        if name == "State" {
            self.states.push(name.span().start().line);
        }
    }
}

fn each(
    sources: &[Source],
    rule: &'static str,
    lines: impl Fn(Types<'_>) -> Vec<usize>,
) -> Vec<Found> {
    let mut found = Vec::new();
    for (package, source) in of_crates(sources).filter(|(_, source)| source.is_library()) {
        let mut types = Types {
            strings: Vec::new(),
            states: Vec::new(),
            source,
        };
        types.visit_file(&source.parse());
        let path = &types.source.path;
        found.extend(lines(types).into_iter().map(|line| Found {
            rule,
            key: package.into(),
            number: 1,
            place: format!("{path}:{line}"),
        }));
    }
    found
}

/// `Result<_, String>` in libraries: an error should be an enum.
pub fn string_errors(sources: &[Source]) -> Vec<Found> {
    let mut found = each(sources, "string-error", |types| types.strings);
    found.retain(|one| one.key != "cli" && one.key != "testing");
    found
}

/// Types that are called `State`: a name says what state.
pub fn states(sources: &[Source]) -> Vec<Found> {
    each(sources, "state-type", |types| types.states)
}

#[test]
fn both_are_found() {
    let text = "struct State;\nfn f() -> Result<Vec<u8>, String> { let g: io::Result<()>; }\n\
                mod inner { enum State {} fn h() -> Result<(), Option<Result<(), String>>> {} }\n";
    let source = [Source {
        path: "crates/x/src/lib.rs".into(),
        text: text.into(),
    }];
    assert_eq!(
        (states(&source).len(), string_errors(&source).len()),
        (2, 2)
    );
}

//! How names are written for people: demangled, without parameters and without what compilers append.

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Nesting of a mangled name beyond which it is shown as it is.
const DEEPEST: u32 = 128;

/// A symbol's name as its programmer would say it: `Queue<int>::push` for `_ZN5QueueIiE4pushEi`, `count` for `count.0`.
/// Parameters are left out, because a file and a line stand beside the name anyway.
pub fn demangle(name: &str) -> String {
    let stem = stem(name);
    if !stem.starts_with("_Z") {
        return stem.to_owned();
    }
    let parse = ParseOptions::default().recursion_limit(DEEPEST);
    let options = DemangleOptions::new()
        .no_params()
        .no_return_type()
        .recursion_limit(DEEPEST);
    let parsed = Symbol::new_with_options(stem, &parse);
    let plain = parsed.ok().and_then(|symbol| {
        let plain = symbol.demangle_with_options(&options);
        plain.ok()
    });
    plain.map_or_else(|| stem.to_owned(), |plain| readable(&plain))
}

/// A name without version (`stdout@GLIBC_2.2.5`) and without the compiler's numbers and notes on copies it made
/// (`count.0`, `push.part.0.cold`).
fn stem(name: &str) -> &str {
    let end = name.find(['.', '@']).filter(|&end| end > 0);
    &name[..end.unwrap_or(name.len())]
}

/// Leaves out the parts of a C++ name that its programmer did not write, or not to tell it from others: anonymous and
/// inline namespaces, ABI tags, parameters of functions around it, parameters of a lambda and the name of its call operator.
pub(super) fn readable(name: &str) -> String {
    let mut name = name.to_owned();
    for noise in ["(anonymous namespace)::", "[abi:cxx11]", "__cxx11::"] {
        name = name.replace(noise, "");
    }
    // `{lambda(int)#1}` and, in debug information, `<lambda(int)>`.
    for (open, close) in [("{lambda(", "}"), ("<lambda(", ">")] {
        for at in (0..name.len()).rev() {
            if let Some((end, short)) = lambda(&name, at, open, close) {
                name.replace_range(at..end, &short);
            }
        }
    }
    for at in (0..name.len()).rev() {
        if let Some(end) = parameters(&name, at) {
            name.replace_range(at..end, "");
        }
    }
    name
}

/// Where a lambda that begins here ends, and what to call it.
fn lambda(name: &str, at: usize, open: &str, close: &str) -> Option<(usize, String)> {
    let inside = name.get(at..)?.strip_prefix(open)?;
    let (_, rest) = inside.split_at(parenthesis(inside)?);
    let (number, rest) = rest[1..].split_once(close)?;
    let rest = rest.strip_prefix("::operator()").unwrap_or(rest);
    Some((name.len() - rest.len(), format!("{{lambda{number}}}")))
}

/// Where parameters that begin here end, if they are those of a function that something is inside of.
fn parameters(name: &str, at: usize) -> Option<usize> {
    let inside = name.get(at..)?.strip_prefix('(')?;
    let (_, rest) = inside.split_at(parenthesis(inside)?);
    let rest = rest[1..].trim_start_matches(" const");
    let meant = rest.starts_with("::") && !name[..at].ends_with("operator");
    meant.then_some(name.len() - rest.len())
}

/// Where the parenthesis that is open at the beginning of `text` is closed.
fn parenthesis(text: &str) -> Option<usize> {
    let mut open = 1;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open += 1,
            b')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        let names = [
            ("main", "main"),
            ("count.0", "count"),
            ("take.part.0.cold", "take"),
            ("stdout@GLIBC_2.2.5", "stdout"),
            (".text", ".text"),
            ("_ZN5QueueIiE4pushEi", "Queue<int>::push"),
            ("_ZL6workerPv.constprop.0", "worker"),
            ("_ZN4Pool8instanceE", "Pool::instance"),
            ("_ZZ6workerPvE5count_0", "worker::count"),
            (
                "_ZZNK5QueueIiE4pushEPFviEE5count",
                "Queue<int>::push::count",
            ),
            ("_ZZZ4mainENKUlvE_clEvE5calls", "main::{lambda#1}::calls"),
            ("_ZZN1AclEiE1x", "A::operator()::x"),
            ("_Z4callIPFviEEvT_", "call<void (*)(int)>"),
            ("_ZN12_GLOBAL__N_16hiddenE", "hidden"),
            ("_Z7largestIiET_S0_S0_", "largest<int>"),
            ("_ZZ4mainENKUlvE_clEv", "main::{lambda#1}"),
            ("_ZZ4mainENKUliPFvvEE0_clEiS0_", "main::{lambda#2}"),
            ("_ZTV4Pool", "vtable for Pool"),
            ("_ZGVZ4poolvE3one", "guard variable for pool::one"),
            ("_Znwm", "operator new"),
            ("_Z", "_Z"),
            ("_ZN4Pool", "_ZN4Pool"),
            ("", ""),
        ];
        for (mangled, plain) in names {
            assert_eq!(demangle(mangled), plain, "{mangled}");
        }
        assert_eq!(readable("run::<lambda(int)>"), "run::{lambda}");
        assert_eq!(readable("<lambda("), "<lambda(");
    }
}

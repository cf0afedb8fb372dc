//! How names are written for people: demangled, without parameters and without what compilers append.

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Nesting of a mangled name beyond which it is shown as it is.
const DEEPEST: u32 = 128;

/// Arguments of the standard library's templates that hardly anyone writes.
const DEFAULTS: &[&str] = &[
    ", std::allocator<",
    ", std::char_traits<",
    ", std::default_delete<",
    ", std::equal_to<",
    ", std::hash<",
    ", std::less<",
];

/// What a function without a name is called; its line tells it from others.
pub(super) const LAMBDA: &str = "{lambda}";

/// What compilers append to a name when they make a copy or a part of a function.
const COPIES: &[&str] = &[
    "clone",
    "cold",
    "constprop",
    "isra",
    "llvm",
    "localalias",
    "lto_priv",
    "part",
];

/// A symbol's name as its programmer would say it: `Queue<int>::push` for `_ZN5QueueIiE4pushEi`, `count` for `count.0`.
/// Parameters are left out, because a file and a line stand beside the name anyway.
pub fn demangle(name: &str) -> String {
    if let Some(plain) = rust(name) {
        return plain;
    }
    let stem = stem(name);
    if !stem.starts_with("_Z") {
        return stem;
    }
    let parse = ParseOptions::default().recursion_limit(DEEPEST);
    let options = DemangleOptions::new()
        .no_params()
        .no_return_type()
        .recursion_limit(DEEPEST);
    let parsed = Symbol::new_with_options(&stem, &parse);
    let plain = parsed.ok().and_then(|symbol| {
        let plain = symbol.demangle_with_options(&options);
        plain.ok()
    });
    plain.map_or(stem, |plain| readable(&plain))
}

/// A name of Rust's, without its hash and without what compilers append.
fn rust(name: &str) -> Option<String> {
    let name = match name.starts_with("_R") {
        true => name.split('.').next().unwrap_or(name),
        // In older ones the hash tells them from names of C++.
        false => {
            let (name, _) = name.split_once(".llvm.").unwrap_or((name, ""));
            let end = name.len().checked_sub("17h0123456789abcdefE".len())?;
            name.get(end..)?.strip_prefix("17h")?;
            name
        }
    };
    let plain = rustc_demangle::try_demangle(name).ok()?;
    Some(format!("{plain:#}"))
}

/// A name without version (`stdout@GLIBC_2.2.5`) and without the compiler's numbers and notes (`count.0`,
/// `push.part.0.cold`); a variable of a function in C may be `worker.count`.
fn stem(name: &str) -> String {
    if name.starts_with('.') {
        return name.to_owned();
    }
    let (name, _) = name.split_once('@').unwrap_or((name, ""));
    let mut parts = name.split('.');
    let mut stem = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = part.bytes().all(|byte| byte.is_ascii_digit());
        if !number && !COPIES.contains(&part) {
            stem.push_str("::");
            stem.push_str(part);
        }
    }
    stem
}

/// Leaves out the parts of a C++ name that its programmer did not write, or not to tell it from others: anonymous and
/// inline namespaces, ABI tags, default arguments of templates, parameters of functions around it, parameters of a lambda and the name of its call operator.
pub(super) fn readable(name: &str) -> String {
    let mut name = name.to_owned();
    for noise in ["(anonymous namespace)::", "[abi:cxx11]", "__cxx11::"] {
        name = name.replace(noise, "");
    }
    for at in (0..name.len()).rev() {
        if let Some(end) = lambda(&name, at) {
            name.replace_range(at..end, LAMBDA);
        }
    }
    for at in (0..name.len()).rev() {
        if let Some(end) = parameters(&name, at) {
            name.replace_range(at..end, "");
        }
    }
    for argument in DEFAULTS {
        for at in (0..name.len()).rev() {
            if let Some(end) = default(&name, at, argument) {
                name.replace_range(at..end, "");
            }
        }
    }
    name = name.replace(" >", ">");
    name = name.replace("std::basic_string<char>", "std::string");
    let table = name.strip_prefix("{vtable(");
    if let Some(class) = table.and_then(|name| name.strip_suffix(")}")) {
        name = format!("vtable for {class}");
    }
    name.truncate(name.trim_end_matches(" const").len());
    name
}

/// Where a lambda such as `{lambda(int)#1}::operator()` or `$_0::operator()` ends that begins here.
fn lambda(name: &str, at: usize) -> Option<usize> {
    let text = name.get(at..)?;
    let rest = if let Some(inside) = text.strip_prefix("{lambda(") {
        let (_, rest) = inside.split_at(closing(inside, b'(', b')')?);
        rest.split_once('}')?.1
    } else {
        let number = text.strip_prefix("$_")?;
        number.trim_start_matches(|c: char| c.is_ascii_digit())
    };
    let rest = rest.strip_prefix("::operator()").unwrap_or(rest);
    Some(name.len() - rest.len())
}

/// Where parameters that begin here end, if they are those of a function that something is inside of.
fn parameters(name: &str, at: usize) -> Option<usize> {
    let inside = name.get(at..)?.strip_prefix('(')?;
    let (_, rest) = inside.split_at(closing(inside, b'(', b')')?);
    let rest = rest[1..].trim_start_matches(" const");
    let meant = rest.starts_with("::") && !name[..at].ends_with("operator");
    meant.then_some(name.len() - rest.len())
}

/// Where an argument such as `, std::allocator<int>` ends that begins here.
fn default(name: &str, at: usize, argument: &str) -> Option<usize> {
    let inside = name.get(at..)?.strip_prefix(argument)?;
    Some(name.len() - inside.len() + closing(inside, b'<', b'>')? + 1)
}

/// Where the bracket that is open at the beginning of `text` is closed.
fn closing(text: &str, open: u8, close: u8) -> Option<usize> {
    let mut depth = 1;
    text.bytes().position(|byte| {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth -= 1;
        }
        depth == 0
    })
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
            ("worker.count", "worker::count"),
            ("count.12.lto_priv.0", "count"),
            ("_ZN5QueueIiE4pushEi", "Queue<int>::push"),
            ("_ZL6workerPv.constprop.0", "worker"),
            ("_ZN4Pool8instanceE", "Pool::instance"),
            ("_ZZ6workerPvE5count_0", "worker::count"),
            (
                "_ZZNK5QueueIiE4pushEPFviEE5count",
                "Queue<int>::push::count",
            ),
            ("_ZZZ4mainENKUlvE_clEvE5calls", "main::{lambda}::calls"),
            ("_ZZN1AclEiE1x", "A::operator()::x"),
            ("_Z4callIPFviEEvT_", "call<void (*)(int)>"),
            ("_ZN12_GLOBAL__N_16hiddenE", "hidden"),
            ("_Z7largestIiET_S0_S0_", "largest<int>"),
            ("_ZZ4mainENKUlvE_clEv", "main::{lambda}"),
            ("_ZZ4mainENKUliPFvvEE0_clEiS0_", "main::{lambda}"),
            ("_ZZ4mainENK3$_0clEi", "main::{lambda}"),
            (
                "_ZN5QueueINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEE4pushERKS5_",
                "Queue<std::string>::push",
            ),
            (
                "_ZNSt6vectorIS_IiSaIiEESaIS1_EE9push_backERKS1_",
                "std::vector<std::vector<int>>::push_back",
            ),
            (
                "_ZNSt3mapIiSt10unique_ptrIlSt14default_deleteIlEESt4lessIiESaISt4pairIKiS3_EEE5clearEv",
                "std::map<int, std::unique_ptr<long>>::clear",
            ),
            ("_ZTV4Pool", "vtable for Pool"),
            ("_ZGVZ4poolvE3one", "guard variable for pool::one"),
            ("_Znwm", "operator new"),
            (
                "_RNvNvMNtNtCsjrHSEGnQ3l9_3std6thread2idNtB4_8ThreadId3new7COUNTER.0",
                "<std::thread::id::ThreadId>::new::COUNTER",
            ),
            ("_RNvCs1234_7mycrate3foo.llvm.1234", "mycrate::foo"),
            (
                "_ZN3std6thread5Inner3new17h0123456789abcdefE",
                "std::thread::Inner::new",
            ),
            ("_Z", "_Z"),
            ("_ZN4Pool", "_ZN4Pool"),
            ("", ""),
        ];
        for (mangled, plain) in names {
            assert_eq!(demangle(mangled), plain, "{mangled}");
        }
        assert_eq!(readable("run::{lambda("), "run::{lambda(");
    }
}

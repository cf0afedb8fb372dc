//! Calls of the C++ library, by their names: what they do to the object that they are for. Its code has no hooks.
//!
//! By the C++ standard a member that is not `const` may be concurrent with no other use of the object, and members that are may be concurrent with
//! each other. So a call counts as a write to the object, or as a read of it. Constructors and destructors are left out.

use super::operands::Memory;

/// An access that a call stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Effect {
    /// The hook that notes it.
    pub hook: &'static str,
    /// Where the object is.
    pub memory: Memory<'static>,
    pub bytes: usize,
}

/// Of a `std::basic_ios`: a base of every stream. A stream's hook finds it by the stream's virtual table if the access has no bytes.
const IOS: usize = 264;
const BUFFER: usize = 64;
const PATH: usize = 40;

/// Classes with a virtual base of `std::basic_ios`, as their names begin.
const STREAMS: &[&str] = &[
    "So",
    "Si",
    "Sd",
    "St13basic_ostreamI",
    "St13basic_istreamI",
    "St14basic_iostreamI",
    "St14basic_ofstreamI",
    "St14basic_ifstreamI",
    "St13basic_fstreamI",
    "St7__cxx1118basic_stringstreamI",
    "St7__cxx1119basic_istringstreamI",
    "St7__cxx1119basic_ostringstreamI",
];
const BUFFERS: &[&str] = &[
    "St15basic_streambufI",
    "St13basic_filebufI",
    "St7__cxx1115basic_stringbufI",
];
/// Functions that get a stream first, and return it.
const OF_STREAMS: &[&str] = &[
    "_ZStls",
    "_ZStrs",
    "_ZSt16__ostream_insert",
    "_ZSt7getline",
    "_ZSt4endl",
    "_ZSt4ends",
    "_ZSt5flush",
    "_ZSt2ws",
];
/// Members of paths that return another one.
const NEW_PATHS: &[&str] = &[
    "9root_name",
    "14root_directory",
    "9root_path",
    "13relative_path",
    "11parent_path",
    "16lexically_normal",
    "18lexically_relative",
    "19lexically_proximate",
];

/// What a call or jump with this operand does; `None`: nothing that is known.
pub(super) fn effect(operand: &str) -> Option<Effect> {
    let operand = operand.trim_start_matches('*').trim();
    let symbol = operand.split(['@', '(']).next()?;
    let begins = |names: &[&str]| names.iter().any(|name| symbol.starts_with(name));
    if begins(OF_STREAMS) {
        let returned = ["ERSt13basic_ostreamI", "ERSt13basic_istreamI"];
        let stream = returned.iter().any(|name| symbol.contains(name));
        return stream.then(|| object(("stream_read", "stream_write"), false, "rdi", 0));
    }
    member(symbol)
}

fn object(
    (reads, writes): (&'static str, &'static str),
    constant: bool,
    base: &'static str,
    bytes: usize,
) -> Effect {
    Effect {
        hook: if constant { reads } else { writes },
        memory: Memory {
            base: Some(base),
            ..Memory::default()
        },
        bytes,
    }
}

fn member(symbol: &str) -> Option<Effect> {
    let name = symbol.strip_prefix("_ZN")?;
    let class = name.trim_start_matches(['K', 'V', 'R', 'O']);
    let constant = name[..name.len() - class.len()].contains('K');
    let lives = !["C1E", "C2E", "D0E", "D1E", "D2E"]
        .iter()
        .any(|end| class.contains(end));
    if !lives || class.contains("6sentry") {
        return None;
    }
    // What is returned by value has its place in the first register.
    let text = constant && class.contains("3strEv");
    let of = |classes: &[&str]| classes.iter().any(|name| class.starts_with(name));
    let stream = ("stream_read", "stream_write");
    let plain = ("read", "write");
    if of(STREAMS) {
        let base = if text { "rsi" } else { "rdi" };
        return Some(object(stream, constant, base, 0));
    }
    if of(BUFFERS) {
        let base = if text { "rsi" } else { "rdi" };
        return Some(object(plain, constant, base, BUFFER));
    }
    let not_of_objects = ["4Init", "7failure", "6xalloc", "15sync_with_stdio"];
    let ios = class.strip_prefix("St8ios_base");
    let ios = ios.is_some_and(|rest| !not_of_objects.iter().any(|name| rest.starts_with(name)));
    if ios || class.starts_with("St9basic_iosI") {
        return Some(object(stream, constant, "rdi", IOS));
    }
    let of_path = class.strip_prefix("St10filesystem7__cxx114path")?;
    if of_path.starts_with("5_List") || of_path.starts_with("8iterator") {
        return None;
    }
    let returns_path = NEW_PATHS.iter().any(|name| of_path.starts_with(name));
    let base = if constant && returns_path {
        "rsi"
    } else {
        "rdi"
    };
    Some(object(plain, constant, base, PATH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_known_by_their_names() {
        let found = |operand| {
            let effect = effect(operand)?;
            Some((effect.hook, effect.memory.base?, effect.bytes))
        };
        let cases = [
            ("_ZNSolsEi@PLT", Some(("stream_write", "rdi", 0))),
            (
                "*_ZNSo3putEc@GOTPCREL(%rip)",
                Some(("stream_write", "rdi", 0)),
            ),
            (
                "_ZNKSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv",
                Some(("stream_read", "rsi", 0)),
            ),
            (
                "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc@PLT",
                Some(("stream_write", "rdi", 0)),
            ),
            (
                "_ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate",
                Some(("stream_write", "rdi", 264)),
            ),
            (
                "_ZNKSt10filesystem7__cxx114path11parent_pathEv",
                Some(("read", "rsi", 40)),
            ),
            (
                "_ZNSt10filesystem7__cxx114path9_M_appendESt17basic_string_viewIcSt11char_traitsIcEE",
                Some(("write", "rdi", 40)),
            ),
            ("_ZNSo6sentryC1ERSo", None),
            (
                "_ZNSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEEC1Ev",
                None,
            ),
            ("_ZNSt8ios_base4InitC1Ev", None),
            ("_ZNSt8ios_base15sync_with_stdioEb", None),
            (
                "_ZStlsIiENSt9enable_ifIXsrSt13is_integralIT_E5valueESt4byteE4typeES3_S1_",
                None,
            ),
            ("*%rax", None),
            ("puts@PLT", None),
        ];
        for (operand, expected) in cases {
            assert_eq!(found(operand), expected, "{operand}");
        }
    }
}

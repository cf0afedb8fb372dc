//! Operands of instructions in AT&T syntax.

use super::statements::is_name;

/// An operand, as far as accesses to memory are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand<'a> {
    Register(&'a str),
    /// With what follows the `$`.
    Immediate(&'a str),
    Memory(Memory<'a>),
}

/// `segment:displacement(base,index,scale)`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Memory<'a> {
    /// Without `%`, as all registers here.
    pub segment: Option<&'a str>,
    pub displacement: &'a str,
    pub base: Option<&'a str>,
    pub index: Option<&'a str>,
    pub scale: i64,
}

/// A displacement: a number and at most one symbol, with what is said of it (`x@GOTPCREL`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Displacement<'a> {
    pub symbol: Option<&'a str>,
    pub offset: i64,
}

impl<'a> Operand<'a> {
    /// `None`: it is not understood.
    fn read(text: &'a str) -> Option<Operand<'a>> {
        let text = text.trim();
        let text = text.strip_prefix('*').unwrap_or(text);
        if let Some(value) = text.strip_prefix('$') {
            return Some(Operand::Immediate(value));
        }
        let register = text.strip_prefix('%');
        match register {
            Some(name) if name.chars().all(|c| c.is_ascii_alphanumeric()) => {
                Some(Operand::Register(name))
            }
            Some(segment) if segment.contains(':') => {
                let (segment, rest) = segment.split_once(':')?;
                let mut memory = Memory::read(rest)?;
                memory.segment = Some(segment);
                Some(Operand::Memory(memory))
            }
            // `%st(1)`, `%ymm0{%k1}`
            Some(name) => Some(Operand::Register(name)),
            None => Memory::read(text).map(Operand::Memory),
        }
    }

    /// The operands of an instruction, in the order of the text.
    pub fn all(text: &'a str) -> Option<Vec<Operand<'a>>> {
        let mut operands = Vec::new();
        let mut depth = 0;
        let mut begin = 0;
        for (at, c) in text.char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => {
                    operands.push(Operand::read(&text[begin..at])?);
                    begin = at + 1;
                }
                _ => {}
            }
        }
        if !text[begin..].trim().is_empty() {
            operands.push(Operand::read(&text[begin..])?);
        }
        Some(operands)
    }
}

impl<'a> Memory<'a> {
    fn read(text: &'a str) -> Option<Memory<'a>> {
        let text = text.trim();
        let text = text.find('{').map_or(text, |mask| text[..mask].trim());
        let Some(inner) = text.strip_suffix(')') else {
            return Some(Memory {
                displacement: text,
                scale: 1,
                ..Memory::default()
            });
        };
        let open = inner.rfind('(')?;
        let mut parts = inner[open + 1..].split(',').map(str::trim);
        let register = |part: Option<&'a str>| match part {
            None | Some("") => Some(None),
            Some(name) => name.strip_prefix('%').map(Some),
        };
        let base = register(parts.next())?;
        let index = register(parts.next())?;
        let scale = match parts.next() {
            None | Some("") => 1,
            Some(scale) => scale.parse().ok()?,
        };
        Some(Memory {
            segment: None,
            displacement: inner[..open].trim(),
            base,
            index,
            scale,
        })
    }
}

impl<'a> Displacement<'a> {
    /// `None`: more than a symbol and a number.
    pub fn read(text: &'a str) -> Option<Displacement<'a>> {
        let mut found = Displacement {
            symbol: None,
            offset: 0,
        };
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (negative, term) = match rest.as_bytes()[0] {
                b'-' => (true, rest[1..].trim_start()),
                b'+' => (false, rest[1..].trim_start()),
                _ => (false, rest),
            };
            let end = term
                .find(|c: char| !is_name(c) && c != '@')
                .unwrap_or(term.len());
            let (word, after) = term.split_at(end);
            rest = after.trim_start();
            match number(word) {
                Some(number) if negative => found.offset = found.offset.checked_sub(number)?,
                Some(number) => found.offset = found.offset.checked_add(number)?,
                None if negative || word.is_empty() || found.symbol.is_some() => return None,
                None => found.symbol = Some(word),
            }
            if !rest.is_empty() && !rest.starts_with(['+', '-']) {
                return None;
            }
        }
        Some(found)
    }
}

/// A number as assemblers read it; what ends in `f` or `b` after digits is a label.
pub(super) fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok()? as i64,
        None if digits.len() > 1 && digits.starts_with('0') => {
            i64::from_str_radix(digits, 8).ok()?
        }
        None => digits.parse::<u64>().ok()? as i64,
    };
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(text: &str) -> Memory<'_> {
        match Operand::all(text).as_deref() {
            Some([Operand::Memory(memory)]) => *memory,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn operands_are_read() {
        let all = Operand::all("$1, %eax, 8+g(%rip)").unwrap();
        assert_eq!(
            all[..2],
            [Operand::Immediate("1"), Operand::Register("eax")]
        );
        let whole = memory("*-8(%rax,%rbx,4)");
        assert_eq!(
            (whole.base, whole.index, whole.scale),
            (Some("rax"), Some("rbx"), 4)
        );
        assert_eq!(whole.displacement, "-8");
        assert_eq!(memory("%fs:x@tpoff").segment, Some("fs"));
        assert_eq!(memory("0(,%rax,4)").base, None);
        assert_eq!(memory("(4+g)(%rip)").displacement, "(4+g)");
    }

    #[test]
    fn displacements_are_read() {
        let read = |text| Displacement::read(text).map(|it| (it.symbol, it.offset));
        assert_eq!(read("8+g"), Some((Some("g"), 8)));
        assert_eq!(read("g-0x10"), Some((Some("g"), -16)));
        assert_eq!(read("-48"), Some((None, -48)));
        assert_eq!(read("x@GOTPCREL"), Some((Some("x@GOTPCREL"), 0)));
        assert_eq!(read(""), Some((None, 0)));
        assert_eq!(read(".L4-.L3"), None);
    }
}

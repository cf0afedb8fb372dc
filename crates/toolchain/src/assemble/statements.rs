//! An assembler's input as statements: labels, directives and instructions, in AT&T syntax as compilers write it.
//!
//! *Called by:* `assemble`. *Owns:* nothing. *Invariant:* the statements of a text, written one after the other, are that text for an assembler.

/// One statement, and what it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Statement<'a> {
    /// As it was written, with the labels before it and without comments.
    pub text: &'a str,
    pub kind: Kind<'a>,
    /// Written by the programmer: between the marks that compilers put around inline assembly.
    pub by_hand: bool,
}

/// What a statement is, without the labels before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// Nothing, or a label alone.
    Empty,
    Directive {
        name: &'a str,
        arguments: &'a str,
    },
    Instruction {
        mnemonic: &'a str,
        operands: &'a str,
    },
    /// `lock`, `rep` and the like, which belong to the next instruction.
    Prefix,
    /// Lines that the assembler repeats or keeps for later: what they become is not known.
    Opaque,
}

const PREFIXES: [&str; 16] = [
    "lock", "rep", "repe", "repz", "repne", "repnz", "notrack", "bnd", "data16", "xacquire",
    "xrelease", "cs", "ds", "es", "ss", "addr32",
];

impl<'a> Statement<'a> {
    /// Its labels, and the rest.
    pub fn labels(&self) -> (Vec<&'a str>, &'a str) {
        let mut labels = Vec::new();
        let mut rest = self.text.trim();
        while let Some((name, after)) = label(rest) {
            labels.push(name);
            rest = after.trim_start();
        }
        (labels, rest)
    }
}

/// The label at the beginning of a statement, and what comes after it.
fn label(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (name, after) = quoted.split_once('"')?;
        return Some((name, after.strip_prefix(':')?));
    }
    let end = text.find(|c: char| !is_name(c))?;
    let after = text[end..].strip_prefix(':')?;
    (end > 0).then_some((&text[..end], after))
}

/// Whether a character may be part of a symbol's name.
pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$') || !c.is_ascii()
}

/// Splits a text into its statements.
pub(super) fn split(text: &str) -> Vec<Statement<'_>> {
    let mut statements = Vec::new();
    let mut by_hand = false;
    // Inside of `.rept`, `.irp` and `.macro`.
    let mut depth = 0_u32;
    for line in text.lines() {
        match line.trim() {
            "#APP" => by_hand = true,
            "#NO_APP" => by_hand = false,
            _ => {}
        }
        for part in parts(line) {
            let mut statement = Statement {
                text: part,
                kind: Kind::Empty,
                by_hand,
            };
            statement.kind = classify(statement.labels().1, &mut depth);
            statements.push(statement);
        }
    }
    statements
}

fn classify<'a>(text: &'a str, depth: &mut u32) -> Kind<'a> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, arguments) = (&text[..end], text[end..].trim());
    match name {
        ".rept" | ".irp" | ".irpc" | ".macro" => {
            *depth += 1;
            return Kind::Opaque;
        }
        ".endr" | ".endm" => {
            *depth = depth.saturating_sub(1);
            return Kind::Opaque;
        }
        _ if *depth > 0 => return Kind::Opaque,
        _ => {}
    }
    // An assignment: `name = value`.
    if name.is_empty() || arguments.starts_with('=') {
        return Kind::Empty;
    }
    if name.starts_with('.') {
        return Kind::Directive { name, arguments };
    }
    if PREFIXES.contains(&name) {
        // `lock addl $1, x` is one statement, `lock; addl $1, x` are two.
        return match classify(arguments, depth) {
            Kind::Empty => Kind::Prefix,
            inner => inner,
        };
    }
    Kind::Instruction {
        mnemonic: name,
        operands: arguments,
    }
}

/// The statements of one line: separated by `;`, with the comment taken away.
fn parts(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begin = 0;
    let mut quote = false;
    let mut escaped = false;
    let mut end = line.len();
    if line.trim_start().starts_with('/') {
        return found;
    }
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote => escaped = true,
            '"' => quote = !quote,
            ';' if !quote => {
                found.push(&line[begin..at]);
                begin = at + 1;
            }
            '#' if !quote => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    found.push(&line[begin..end]);
    found.retain(|part| !part.trim().is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_statements() {
        let text = ".type f, @function\nf:\n\tmovl\t$1, x(%rip)\t# one; two\n#APP\n1: lock; incl (%rax)\n lock xaddl %eax, (%rdx)\n#NO_APP\n.string \"a;#\\\"b\"\nret\n";
        let found = split(text);
        let texts: Vec<&str> = found.iter().map(|it| it.text.trim()).collect();
        assert_eq!(
            texts,
            [
                ".type f, @function",
                "f:",
                "movl\t$1, x(%rip)",
                "1: lock",
                "incl (%rax)",
                "lock xaddl %eax, (%rdx)",
                ".string \"a;#\\\"b\"",
                "ret"
            ]
        );
        assert_eq!(found[1].labels(), (vec!["f"], ""));
        assert_eq!(found[3].kind, Kind::Prefix);
        assert!(found[3].by_hand && found[5].by_hand && !found[6].by_hand);
        assert_eq!(
            found[5].kind,
            Kind::Instruction {
                mnemonic: "xaddl",
                operands: "%eax, (%rdx)"
            }
        );
    }

    #[test]
    fn what_is_repeated_is_opaque() {
        let found = split(".rept 3\nnop\n.endr\nnop\n");
        let kinds: Vec<bool> = found.iter().map(|it| it.kind == Kind::Opaque).collect();
        assert_eq!(kinds, [true, true, true, false]);
    }
}

//! Response files (`@file`): words of a command line in a file.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::{OsStrExt, OsStringExt},
};

/// How deep response files may name each other; deeper ones are left to the compiler to complain about.
pub(super) const DEEPEST: usize = 16;

pub(super) fn expand(words: Vec<OsString>, depth: usize, out: &mut Vec<OsString>) {
    for word in words {
        let file = word.as_bytes().strip_prefix(b"@");
        let file = file.filter(|_| depth < DEEPEST).map(OsStr::from_bytes);
        // One that cannot be read is a word like any other, for compilers too.
        match file.and_then(|file| fs::read(file).ok()) {
            Some(text) => expand(read(&text), depth + 1, out),
            None => out.push(word),
        }
    }
}

/// The words of a response file: separated by blanks, quoted by `'` and `"`, a backslash takes the next character as it is.
fn read(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (_, Some(open)) if byte == open => quote = None,
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, None) if byte.is_ascii_whitespace() => {
                words.extend(word.take().map(OsString::from_vec));
            }
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    words
}

/// A response file with these words.
pub(super) fn write(words: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for word in words {
        text.push(b'"');
        for byte in word.as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text.extend(b"\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_files_come_back() {
        let words = ["-DA=\"x y\"", "it's", "back\\slash", "", "plain"].map(OsString::from);
        assert_eq!(read(&write(&words)), words);
        let text = b"  a 'b c' d\\ e \"f'g\"\n\t'h'i";
        let words: Vec<OsString> = ["a", "b c", "d e", "f'g", "hi"].map(OsString::from).into();
        assert_eq!(read(text), words);
    }
}

//! What a target says of itself once, before its first run.

use crate::words::{Malformed, Reader, Writer};
use alloc::{string::String, vec::Vec};

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hello {
    /// The program first, then its libraries.
    pub modules: Vec<HelloModule>,
}

/// A file that is part of the running program. A site is its address there plus its bias.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub struct HelloModule {
    pub bias: u32,
    pub bytes: u32,
    pub base: u64,
    /// Empty for the program itself.
    pub path: String,
}

/// Writes the greeting.
pub fn write_hello(out: &mut Writer<'_>, hello: &Hello) {
    out.word(hello.modules.len() as u64);
    for module in &hello.modules {
        out.pair(module.bias, module.bytes);
        out.word(module.base);
        out.bytes(module.path.as_bytes());
    }
}

/// Reads it.
pub fn read_hello(from: &mut Reader<'_>) -> Result<Hello, Malformed> {
    let mut hello = Hello::default();
    for _ in 0..from.count()? {
        let (bias, bytes) = from.pair()?;
        hello.modules.push(HelloModule {
            bias,
            bytes,
            base: from.word()?,
            path: from.text()?,
        });
    }
    Ok(hello)
}

//! One HTTP request, as far as this server needs to know it.

use std::io::Read;

/// What was asked for.
pub(super) struct Request {
    /// Only what would be answered.
    pub head: bool,
    /// Decoded.
    pub path: String,
    /// Decoded, in order.
    pub query: Vec<(String, String)>,
    pub host: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It makes no sense, for this reason.
    Request(&'static str),
    Method,
    NotThere,
}

/// Longest head of a request, and most of its lines.
const LONGEST: usize = 16 << 10;
const LINES: usize = 64;

impl Request {
    /// Reads up to the end of the head; a body is not looked at.
    pub fn read(stream: &mut impl Read) -> Result<Request, Wrong> {
        let mut bytes = Vec::new();
        let mut part = [0; 2048];
        loop {
            let count = stream.read(&mut part).unwrap_or(0);
            bytes.extend_from_slice(&part[..count]);
            if bytes.len() > LONGEST {
                return Err(Wrong::Request("the request is too long"));
            }
            if let Some(request) = Request::parse(&bytes)? {
                return Ok(request);
            }
            if count == 0 {
                return Err(Wrong::Request("the request is cut"));
            }
        }
    }

    /// `None`: it goes on.
    fn parse(bytes: &[u8]) -> Result<Option<Request>, Wrong> {
        let mut lines = [httparse::EMPTY_HEADER; LINES];
        let mut parsed = httparse::Request::new(&mut lines);
        match parsed.parse(bytes) {
            Ok(status) if status.is_partial() => return Ok(None),
            Ok(_) => {}
            Err(_) => return Err(Wrong::Request("this is no HTTP request")),
        }
        let head = match parsed.method {
            Some("GET") => false,
            Some("HEAD") => true,
            _ => return Err(Wrong::Method),
        };
        let target = parsed.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if !path.starts_with('/') {
            return Err(Wrong::Request("the address is not one of this server's"));
        }
        let mut hosts = parsed
            .headers
            .iter()
            .filter(|line| line.name.eq_ignore_ascii_case("host"));
        let host = hosts.next().map(|line| line.value.to_ascii_lowercase());
        if hosts.next().is_some() {
            return Err(Wrong::Request("the request names several hosts"));
        }
        Ok(Some(Request {
            head,
            path: decode(path, false)?,
            query: pairs(query)?,
            host: host.and_then(|host| String::from_utf8(host).ok()),
        }))
    }

    /// The first value of this name.
    pub fn value(&self, key: &str) -> Option<&str> {
        let mut found = self.query.iter().filter(|(name, _)| name == key);
        found.next().map(|(_, value)| value.as_str())
    }
}

fn pairs(query: &str) -> Result<Vec<(String, String)>, Wrong> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        Ok((decode(name, true)?, decode(value, true)?))
    };
    parts.map(pair).collect()
}

/// Percent signs, and in forms plus signs, made into what they stand for.
fn decode(text: &str, form: bool) -> Result<String, Wrong> {
    let wrong = Wrong::Request("the address is badly encoded");
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digits = [bytes.next(), bytes.next()];
                let digit = |it: Option<u8>| char::from(it?).to_digit(16);
                match digits.map(digit) {
                    [Some(high), Some(low)] => (high * 16 + low) as u8,
                    _ => return Err(wrong),
                }
            }
            b'+' if form => b' ',
            byte => byte,
        });
    }
    String::from_utf8(out).map_err(|_| wrong)
}

/// A name as a part of an address.
pub(super) fn encode(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    name.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Request, Wrong> {
        Request::read(&mut text.as_bytes())
    }

    #[test]
    fn a_request_is_decoded() {
        let request =
            read("GET /trace/a%20b.rwt?a=x%26y&b=1+2 HTTP/1.1\r\nhOsT: LocalHost:1\r\n\r\n");
        let request = request.unwrap();
        assert_eq!(request.path, "/trace/a b.rwt");
        assert_eq!(request.value("a"), Some("x&y"));
        assert_eq!(request.value("b"), Some("1 2"));
        assert_eq!(request.host.as_deref(), Some("localhost:1"));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "GET",
            "GET / HTTP/1.1\r\nHost: x\r\n",
            "hello\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\n\r\n",
            "GET /%zz HTTP/1.1\r\n\r\n",
            "GET /%ff HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        ] {
            assert!(matches!(read(text), Err(Wrong::Request(_))), "{text:?}");
        }
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(LONGEST));
        assert!(matches!(read(&long), Err(Wrong::Request(_))));
        let posted = read("POST / HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(matches!(posted, Err(Wrong::Method)));
    }

    #[test]
    fn names_come_back_from_addresses() {
        for name in ["a b.rwt", "sub/ü?#&%.rwt", "\"<x>\".rwt"] {
            assert_eq!(decode(&encode(name), false).as_deref(), Ok(name));
        }
    }
}

//! What a process shows the broker, and whose programs it runs: a file of lines `key = value`.
//!
//! *Decides:* that beyond this machine nothing goes without TLS and credentials. *Called by:* the command. *Owns:* nothing.

use crate::{broker::BrokerError, sentence::Sentence};
use async_nats::ConnectOptions;
use std::path::{Path, PathBuf};

/// See the module.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    pub(crate) user: Option<(String, String)>,
    /// The seed of a key of NATS.
    pub(crate) nkey: Option<String>,
    /// Certificates of authorities.
    pub(crate) authority: Option<PathBuf>,
    /// The seed of the key that manifests are signed with.
    pub(crate) sign: Option<Vec<u8>>,
    /// Keys that a worker believes.
    pub(crate) trust: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Credentials {
    /// Without secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// The keys of the file.
const KEYS: &str = "user, password, nkey, authority, sign, trust";

impl Credentials {
    /// Reads a file.
    pub fn read(file: &Path) -> Result<Credentials, BrokerError> {
        let text = std::fs::read_to_string(file);
        let text =
            text.map_err(|error| BrokerError::Usage(format!("{}: {error}", file.display())))?;
        let parsed = Credentials::parse(&text, file.parent().unwrap_or(Path::new("")));
        parsed.map_err(|why| BrokerError::Usage(format!("{}: {why}", file.display())))
    }

    fn parse(text: &str, beside: &Path) -> Result<Credentials, Sentence> {
        let mut read = Credentials::default();
        let (mut user, mut password) = (None, None);
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let pair = line.split_once('=');
            let (key, value) = pair.ok_or_else(|| "lines are `key = value`".to_owned())?;
            let value = value.trim().trim_matches('"');
            match key.trim() {
                "user" => user = Some(value.to_owned()),
                "password" => password = Some(value.to_owned()),
                "nkey" => read.nkey = Some(value.into()),
                "authority" => read.authority = Some(beside.join(value)),
                "sign" => read.sign = Some(key_of(value)?),
                "trust" => read.trust.push(key_of(value)?),
                other => return Err(format!("there is no key `{other}`, only {KEYS}").into()),
            }
        }
        read.user = match (user, password) {
            (Some(user), Some(password)) => Some((user, password)),
            (None, None) => None,
            _ => return Err("user and password belong together".into()),
        };
        Ok(read)
    }

    /// Whether a worker demands signatures: always beyond this machine, and wherever it was given keys.
    pub(crate) fn demands_signatures(&self, url: &str) -> bool {
        !self.trust.is_empty() || !is_local(url)
    }

    /// How to connect to this broker.
    pub(crate) fn options(&self, url: &str) -> Result<ConnectOptions, BrokerError> {
        if url.is_empty() || url.contains(' ') {
            return Err(BrokerError::Usage(format!(
                "{url}: is no address; nats://HOST:4222 is one"
            )));
        }
        let local = is_local(url);
        let known = self.user.is_some() || self.nkey.is_some();
        if !local && !known {
            return Err(BrokerError::Usage(format!(
                "{url}: beyond this machine a broker is used with credentials only; --credentials FILE names a file with user and password, or nkey"
            )));
        }
        let mut options = ConnectOptions::new();
        if let Some((user, password)) = &self.user {
            options = options.user_and_password(user.clone(), password.clone());
        }
        if let Some(nkey) = &self.nkey {
            options = options.nkey(nkey.clone());
        }
        if let Some(file) = &self.authority {
            options = options.add_root_certificates(file.clone());
        }
        Ok(options.require_tls(!local || self.authority.is_some()))
    }
}

/// Whether all addresses are of this machine.
fn is_local(url: &str) -> bool {
    url.split(',').all(|address| {
        let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
        let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
        let host = match rest.strip_prefix('[') {
            Some(rest) => rest.split(']').next(),
            None => rest.split([':', '/']).next(),
        };
        let host = host.unwrap_or_default();
        let number = host.parse::<std::net::IpAddr>();
        host == "localhost" || number.is_ok_and(|it| it.is_loopback())
    })
}

/// Sixty-four hexadecimal digits.
fn key_of(text: &str) -> Result<Vec<u8>, Sentence> {
    let digits = text.as_bytes();
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    let key: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    key.filter(|key| key.len() == 32)
        .ok_or_else(|| "sign and trust are keys of 64 hexadecimal digits".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read() {
        let key = "0f".repeat(32);
        let text = format!("# ours\nuser = me\npassword = \"secret\"\n\ntrust = {key}\n");
        let read = Credentials::parse(&text, Path::new("")).unwrap();
        assert_eq!(read.user, Some(("me".into(), "secret".into())));
        assert_eq!(read.trust, [vec![15; 32]]);
        let wrong = |text: &str| Credentials::parse(text, Path::new("")).unwrap_err();
        assert_eq!(wrong("user = me").0, "user and password belong together");
        assert!(wrong("sign = 12").0.contains("64 hexadecimal digits"));
        assert!(wrong("pass = x").0.contains("there is no key `pass`"));
    }

    #[test]
    fn beyond_this_machine_credentials_are_needed() {
        let none = Credentials::default();
        for local in [
            "nats://127.0.0.1:4222",
            "localhost",
            "nats://[::1]:4222",
            "nats://a:b@localhost:1",
        ] {
            assert!(none.options(local).is_ok(), "{local}");
        }
        for far in [
            "nats://10.0.0.1:4222",
            "nats://localhost.example.com",
            "nats://127.0.0.1:1,nats://far:1",
            "nats://127.0.0.1@far:1",
        ] {
            let refused = none.options(far).err().map(|error| error.to_string());
            assert!(
                refused.is_some_and(|it| it.contains("--credentials FILE")),
                "{far}"
            );
            assert!(none.demands_signatures(far));
        }
        assert!(!none.demands_signatures("nats://localhost"));
    }
}

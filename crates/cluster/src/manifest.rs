//! Which program a search runs, and who vouches for it.
//!
//! *Decides:* which manifests a worker believes. *Called by:* the command at the user's end, `serve`. *Owns:* nothing.
//! *Invariant:* a worker opens no file whose hash is not in a manifest that it believes.

use crate::{
    credentials::Credentials,
    message::{decode, encode},
    sentence::Sentence,
};
use ring::{
    digest::{SHA256, digest},
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};
use serde::{Deserialize, Serialize};

/// A program with all that is needed to run it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the command, and of the runtime that the program is linked with.
    pub build: String,
    /// The kind of machine it runs on.
    pub machine: String,
    /// The name of the program, for people.
    pub name: String,
    /// Its files; the first one is the program.
    pub files: Vec<ManifestFile>,
    /// How it is run, as the program's side writes it.
    pub launch: serde_json::Value,
}

/// A file of a program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Its name, without a directory.
    pub name: String,
    /// SHA-256 in hexadecimal digits.
    pub hash: String,
    /// Its length.
    pub bytes: u64,
}

/// Files that are longer are refused.
const LONGEST: u64 = 1 << 30;

impl ManifestFile {
    /// Of a file with these contents.
    pub fn of(name: &str, bytes: &[u8]) -> ManifestFile {
        ManifestFile {
            name: name.into(),
            hash: hash(bytes),
            bytes: bytes.len() as u64,
        }
    }

    /// Whether these are its contents.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.bytes && hash(bytes) == self.hash
    }

    fn makes_sense(&self) -> bool {
        let plain = |c: char| c.is_alphanumeric() || "._-+@".contains(c);
        let hex = |c: char| c.is_ascii_hexdigit();
        !self.name.is_empty()
            && !self.name.starts_with('.')
            && self.name.chars().all(plain)
            && self.hash.len() == 64
            && self.hash.chars().all(hex)
            && self.bytes <= LONGEST
    }
}

fn hash(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What stands before a manifest.
#[derive(Serialize, Deserialize)]
struct Seal {
    key: Vec<u8>,
    signature: Vec<u8>,
}

/// The public half of a signing key, for the `trust` lines of workers.
pub fn public_key(credentials: &Credentials) -> Option<String> {
    let pair = Ed25519KeyPair::from_seed_unchecked(credentials.sign.as_ref()?).ok()?;
    Some(hex(pair.public_key().as_ref()))
}

impl Manifest {
    /// What its files take.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// As bytes, signed if there is a key.
    pub fn seal(&self, credentials: &Credentials) -> Vec<u8> {
        let body = serde_json::to_vec(self).expect("a manifest is plain data");
        let pair = credentials.sign.as_ref();
        let pair = pair.and_then(|seed| Ed25519KeyPair::from_seed_unchecked(seed).ok());
        let seal = Seal {
            key: pair
                .as_ref()
                .map_or(Vec::new(), |it| it.public_key().as_ref().into()),
            signature: pair.map_or(Vec::new(), |it| it.sign(&body).as_ref().into()),
        };
        encode(&seal, &body)
    }

    /// Reads one, for a user that wants to run it; an error is a sentence.
    pub fn read(bytes: &[u8]) -> Result<Manifest, Sentence> {
        Manifest::unseal(bytes, None)
    }

    /// Reads one; an error is a sentence.
    pub(crate) fn unseal(bytes: &[u8], believed: Option<&[Vec<u8>]>) -> Result<Manifest, Sentence> {
        let (seal, body) = decode::<Seal>(bytes).map_err(Sentence::of)?;
        if let Some(believed) = believed {
            let known = believed.contains(&seal.key);
            let key = UnparsedPublicKey::new(&ED25519, &seal.key);
            if !known || key.verify(body, &seal.signature).is_err() {
                return Err(
                    "its manifest is not signed by a key that this worker was started with".into(),
                );
            }
        }
        let manifest = serde_json::from_slice(body);
        let manifest: Manifest =
            manifest.map_err(|_| Sentence::from("its manifest makes no sense"))?;
        let sound = manifest.files.iter().all(ManifestFile::makes_sense);
        match sound && !manifest.files.is_empty() {
            true => Ok(manifest),
            false => Err("its manifest names a file in a way that is not allowed".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn manifest(file: &str) -> Manifest {
        Manifest {
            build: "1".into(),
            machine: "x86_64".into(),
            name: "queue.c".into(),
            files: vec![ManifestFile::of(file, b"program")],
            launch: serde_json::Value::Null,
        }
    }

    fn signer(seed: u8) -> Credentials {
        Credentials {
            sign: Some(vec![seed; 32]),
            ..Credentials::default()
        }
    }

    #[test]
    fn only_signed_manifests_are_believed() {
        let sealed = manifest("queue").seal(&signer(1));
        let key = |seed| {
            let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
            pair.public_key().as_ref().to_vec()
        };
        assert_eq!(public_key(&signer(1)), Some(hex(&key(1))));
        assert!(Manifest::unseal(&sealed, Some(&[key(2), key(1)])).is_ok());
        let refused = Manifest::unseal(&sealed, Some(&[key(2)])).unwrap_err();
        assert!(refused.0.contains("not signed by a key"), "{refused}");
        let unsigned = manifest("queue").seal(&Credentials::default());
        assert!(Manifest::unseal(&unsigned, Some(&[key(1)])).is_err());
        assert!(Manifest::unseal(&unsigned, None).is_ok());
        // Another manifest under the same signature.
        let (seal, _) = decode::<Seal>(&sealed).unwrap();
        let body = serde_json::to_vec(&manifest("other")).unwrap();
        assert!(Manifest::unseal(&encode(&seal, &body), Some(&[key(1)])).is_err());
    }

    #[test]
    fn names_stay_in_their_directory() {
        for name in ["../x", "/etc/passwd", "", ".hidden", "a/b", "a\0b"] {
            let sealed = manifest(name).seal(&signer(1));
            let refused = Manifest::unseal(&sealed, None).expect_err(name);
            assert!(refused.0.contains("not allowed"), "{name}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0usize..400) {
            let _ = Manifest::unseal(&bytes, None);
            let mut sealed = manifest("queue").seal(&signer(1));
            let at = at % sealed.len();
            sealed.splice(at..at + 1, bytes);
            let _ = Manifest::unseal(&sealed, None);
        }
    }
}

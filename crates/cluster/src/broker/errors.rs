//! Why the broker cannot be used.

use std::{error::Error, fmt};

/// Why the broker cannot be used. [`fmt::Display`] is a sentence that says what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BrokerError {
    /// Nothing answers there.
    Unreachable(String, String),
    /// It does not accept the credentials.
    Refused(String),
    /// The connection cannot be secured.
    Tls(String, String),
    /// It has no streams.
    NoJetStream(String),
    /// Its storage is full.
    Full,
    /// The address or the credentials make no sense; a sentence.
    Usage(String),
    /// Something else.
    Failed(String),
}

impl BrokerError {
    /// Of an answer of the broker, or of none.
    pub(super) fn of(error: &dyn Error) -> BrokerError {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            text = format!("{text}: {inner}");
            source = inner.source();
        }
        let full = [
            "insufficient",
            "no space",
            "maximum bytes",
            "resources exceeded",
        ];
        match full.iter().any(|word| text.contains(word)) {
            true => BrokerError::Full,
            false => BrokerError::Failed(text),
        }
    }
}

impl fmt::Display for BrokerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BrokerError::Unreachable(url, why) => write!(
                f,
                "{url}: no broker answers there ({why}); `nats-server -js` starts one"
            ),
            BrokerError::Refused(url) => write!(
                f,
                "{url}: the broker does not accept these credentials (--credentials FILE)"
            ),
            BrokerError::Tls(url, why) => {
                write!(f, "{url}: the connection cannot be secured: {why}")
            }
            BrokerError::NoJetStream(url) => write!(
                f,
                "{url}: the broker has no JetStream, or does not allow it; start it with `nats-server -js`"
            ),
            BrokerError::Full => f.write_str(
                "the broker's storage is full: give it more (`max_file_store`), or stop searches (`reweave cluster status`)",
            ),
            BrokerError::Usage(sentence) => f.write_str(sentence),
            BrokerError::Failed(why) => write!(f, "the broker does not do its part: {why}"),
        }
    }
}

impl Error for BrokerError {}

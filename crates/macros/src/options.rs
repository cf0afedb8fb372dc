//! What stands in the parentheses of the attribute, as calls of the builder.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use std::time::Duration;
use syn::{
    Error, Ident, LitBool, LitInt, LitStr, Path, Result, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
};

/// All options of one attribute.
#[derive(Default)]
pub struct Options {
    /// Builder calls, in the order written.
    pub calls: Vec<TokenStream>,
    /// The kind of error that must come up.
    pub expect: Option<LitStr>,
    /// What the crate is called where the test is, if not `reweave`.
    pub reweave: Option<Path>,
}

const ALGORITHMS: [&str; 8] = [
    "auto", "rf", "dfs", "dpor", "optimal", "stateful", "random", "pct",
];
const KINDS: [&str; 8] = [
    "data-race",
    "deadlock",
    "assertion",
    "crash",
    "exit-status",
    "memory",
    "misuse",
    "livelock",
];
const NAMES: &str = "`algorithm`, `workers`, `preemptions`, `budget`, `max_executions`, `max_steps`, \
                     `spurious_wakeups`, `spurious_polls`, `keep_going`, `minimise`, `leaks`, `weak_failures`, `seed`, `expect`, `crate`";

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Options> {
        let mut options = Options::default();
        let mut seen: Vec<Ident> = Vec::new();
        for one in Punctuated::<One, Token![,]>::parse_terminated(input)? {
            if seen.contains(&one.name) {
                let text = format!("`{}` is given twice", one.name);
                return Err(Error::new(one.name.span(), text));
            }
            seen.push(one.name);
            match one.value {
                Value::Call(call) => options.calls.push(call),
                Value::Expect(kind) => options.expect = Some(kind),
                Value::Crate(path) => options.reweave = Some(path),
            }
        }
        Ok(options)
    }
}

/// `name` or `name = value`.
struct One {
    name: Ident,
    value: Value,
}

enum Value {
    Call(TokenStream),
    Expect(LitStr),
    Crate(Path),
}

impl Parse for One {
    fn parse(input: ParseStream<'_>) -> Result<One> {
        // Also `crate`, which is a keyword.
        let name = input.call(Ident::parse_any)?;
        let span = name.span();
        let value = match name.to_string().as_str() {
            "algorithm" => {
                let word = one_of(input, &name, &ALGORITHMS)?;
                let parsed = quote!(::core::str::FromStr::from_str(#word));
                Value::Call(quote_spanned! { span =>
                    .algorithm(#parsed.expect("the attribute knows the algorithms"))
                })
            }
            "workers" => Value::Call(number::<usize>(input, &name, 1)?),
            "preemptions" => Value::Call(number::<u32>(input, &name, 0)?),
            "max_executions" => Value::Call(number::<u64>(input, &name, 1)?),
            "max_steps" => Value::Call(number::<u32>(input, &name, 1)?),
            "budget" => {
                let text: LitStr = value(input, &name, "a time such as \"10s\"")?;
                let Some(time) = duration(&text.value()) else {
                    let says = "a time is a number and `ms`, `s`, `m` or `h`, such as \"10s\"";
                    return Err(Error::new(text.span(), says));
                };
                let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                Value::Call(quote!(.budget(::core::time::Duration::from_millis(#ms))))
            }
            "seed" => Value::Call(number::<u64>(input, &name, 0)?),
            "spurious_wakeups" | "spurious_polls" | "keep_going" | "minimise" | "leaks"
            | "weak_failures" => {
                let on = match input.peek(Token![=]) {
                    true => value::<LitBool>(input, &name, "`true` or `false`")?.value,
                    false => true,
                };
                Value::Call(quote!(.#name(#on)))
            }
            "crate" => {
                let wrong = |_| {
                    let text = "the value of `crate` is the path of reweave, such as `my_reweave`";
                    Error::new(span, text)
                };
                input.parse::<Token![=]>().map_err(wrong)?;
                Value::Crate(Path::parse_mod_style(input).map_err(wrong)?)
            }
            "expect" => Value::Expect(one_of(input, &name, &KINDS)?),
            other => {
                let text = format!("unknown option `{other}`; there are {NAMES}");
                return Err(Error::new(span, text));
            }
        };
        Ok(One { name, value })
    }
}

fn value<T: Parse>(input: ParseStream<'_>, name: &Ident, what: &str) -> Result<T> {
    if !input.peek(Token![=]) {
        let text = format!("`{name}` needs a value: {what}");
        return Err(Error::new(name.span(), text));
    }
    input.parse::<Token![=]>()?;
    let span = input.span();
    let wrong = |_| Error::new(span, format!("the value of `{name}` is {what}"));
    input.parse().map_err(wrong)
}

fn one_of(input: ParseStream<'_>, name: &Ident, known: &[&str]) -> Result<LitStr> {
    let words: Vec<String> = known.iter().map(|word| format!("\"{word}\"")).collect();
    let what = format!("one of {}", words.join(", "));
    let word: LitStr = value(input, name, &what)?;
    if !known.contains(&word.value().as_str()) {
        let text = format!("the value of `{name}` is {what}");
        return Err(Error::new(word.span(), text));
    }
    Ok(word)
}

fn number<T>(input: ParseStream<'_>, name: &Ident, least: u64) -> Result<TokenStream>
where
    T: TryFrom<u64>,
{
    let literal: LitInt = value(input, name, "a number")?;
    let number: u64 = literal.base10_parse()?;
    if number < least || T::try_from(number).is_err() {
        let text = format!("{number} is out of range for `{name}`");
        return Err(Error::new(literal.span(), text));
    }
    let digits = LitInt::new(&number.to_string(), literal.span());
    Ok(quote!(.#name(#digits)))
}

/// `500ms`, `10s`, `2m`, `1h`, also with a fraction.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * factor).ok()
}

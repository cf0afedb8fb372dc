//! What a failed condition is about: the variables in the text of an assertion.
//!
//! *Decides:* which words are variables, and how far a path goes. *Called by:* `memory_names`, which looks them up. *Owns:* nothing.

/// The variables that a condition names, each as a path: `queue`, `->`, `count`. Calls and what follows a cast are left out.
pub(crate) fn paths(condition: &str) -> Vec<Vec<String>> {
    let tokens = tokens(condition);
    let name = |token: &str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !name(&tokens[at]) {
            at += 1;
            continue;
        }
        let mut path = vec![tokens[at].clone()];
        at += 1;
        while let [operator, next, ..] = &tokens[at.min(tokens.len())..] {
            let closed = tokens.get(at + 2).is_some_and(|token| token == "]");
            match operator.as_str() {
                "." | "->" if name(next) => {
                    path.extend([operator.clone(), next.clone()]);
                    at += 2;
                }
                "[" if closed => {
                    path.extend([operator.clone(), next.clone(), "]".into()]);
                    at += 3;
                }
                _ => break,
            }
        }
        if tokens.get(at).is_some_and(|token| token == "(") {
            // A method is called on the path without its last member.
            path.truncate(path.len().saturating_sub(2));
        }
        if !path.is_empty() {
            paths.push(path);
        }
    }
    paths
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            // Literals name nothing.
            '"' | '\'' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("->") => 2,
            c => c.len_utf8(),
        };
        let token = &rest[..length];
        if !token.trim().is_empty() && first != '"' && first != '\'' {
            tokens.push(token.to_owned());
        }
        rest = &rest[length..];
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn conditions_name_variables() {
        let named =
            |text: &str| -> Vec<String> { paths(text).iter().map(|path| path.concat()).collect() };
        assert_eq!(named("balance >= 0"), ["balance"]);
        assert_eq!(
            named("q->head.next != slots[i].at && f(x) == 'c'"),
            ["q->head.next", "slots[i].at", "x"]
        );
        assert_eq!(named("!items_.empty()"), ["items_"]);
        assert_eq!(named("ready && \"no name\""), ["ready"]);
    }
}

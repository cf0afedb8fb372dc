//! How files are called: as short as someone in the directory of the compilation would type them.

/// Where the compiler's own headers and those of libraries live.
const SYSTEM: &str = "/usr/";

/// A path of the debug information, made relative to the directory of the compilation if it lies beneath it or was given
/// so.
pub(super) fn shorten(path: &str, directory: &str) -> String {
    let full = plain(path);
    let inside = beneath(&full, &plain(directory));
    let given = inside.or_else(|| beneath(path, directory));
    given.map_or(full.clone(), plain)
}

/// The rest of a path after a directory.
fn beneath<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    // Everything is beneath the root, but only what is the program's own shall look so.
    if directory.is_empty() || (directory == "/" && path.starts_with(SYSTEM)) {
        return None;
    }
    let rest = path.strip_prefix(directory)?;
    let whole = directory.ends_with('/') || rest.starts_with('/');
    whole.then(|| rest.trim_start_matches('/'))
}

/// A path without `.` and without `dir/..`.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_as_short_as_one_types_them() {
        let paths = [
            ("/proj/queue.c", "/proj", "queue.c"),
            ("/proj/queue.c", "/proj/", "queue.c"),
            ("/proj/src/../include/q.h", "/proj", "include/q.h"),
            ("/proj/build/../src/q.c", "/proj/build", "../src/q.c"),
            ("/proj/./queue.c", "/proj", "queue.c"),
            ("/project/queue.c", "/proj", "/project/queue.c"),
            ("/usr/include/stdio.h", "/proj", "/usr/include/stdio.h"),
            ("/usr/include/stdio.h", "/", "/usr/include/stdio.h"),
            ("/tmp/queue.c", "/", "tmp/queue.c"),
            ("/usr/src/app/queue.c", "/usr/src/app", "queue.c"),
            ("/usr/lib/gcc/../../include/a", "/proj", "/usr/include/a"),
            ("./queue.c", ".", "queue.c"),
            ("queue.c", "", "queue.c"),
            ("../../q.c", "", "../../q.c"),
            ("", "/proj", ""),
        ];
        for (path, directory, short) in paths {
            assert_eq!(shorten(path, directory), short, "{path} in {directory}");
        }
    }
}

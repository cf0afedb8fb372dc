//! Languages that are compiled, and what their compilers are called.

use std::{ffi::OsStr, path::Path};

/// A language that is compiled by a compiler of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Language {
    C,
    Cxx,
    Fortran,
}

impl Language {
    pub(super) const ALL: [Language; 3] = [Language::C, Language::Cxx, Language::Fortran];

    /// The language of a file, which `-x` may have named; `None`: it is not compiled, or is of another language.
    pub fn of(file: &OsStr, named: Option<&OsStr>) -> Option<Language> {
        if let Some(named) = named {
            let named = named.to_string_lossy();
            return match &*named {
                "c" | "cpp-output" => Some(Language::C),
                _ if named.starts_with("c++") => Some(Language::Cxx),
                _ if named.starts_with("f77") || named.starts_with("f95") => {
                    Some(Language::Fortran)
                }
                _ => None,
            };
        }
        let extension = Path::new(file).extension()?.to_str()?;
        match extension {
            "c" | "i" => Some(Language::C),
            "cc" | "cp" | "cpp" | "cxx" | "c++" | "C" | "CPP" | "ii" => Some(Language::Cxx),
            _ if FORTRAN.contains(&&*extension.to_ascii_lowercase()) => Some(Language::Fortran),
            _ => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Language::C => "C",
            Language::Cxx => "C++",
            Language::Fortran => "Fortran",
        }
    }

    /// The environment variable that names its compiler.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Language::C => "CC",
            Language::Cxx => "CXX",
            Language::Fortran => "FC",
        }
    }

    /// What its compilers are called.
    pub(super) fn names(self) -> [&'static str; 3] {
        match self {
            Language::C => ["cc", "gcc", "clang"],
            Language::Cxx => ["c++", "g++", "clang++"],
            Language::Fortran => ["gfortran", "f95", "f77"],
        }
    }

    /// Whether an option such as `-std=c++20` is for another language.
    pub(super) fn refuses(self, option: &OsStr) -> bool {
        let option = option.to_string_lossy();
        let Some(standard) = option.strip_prefix("-std=") else {
            return false;
        };
        let meant = match standard {
            _ if standard.contains("++") => Language::Cxx,
            _ if standard.starts_with('f') || standard == "legacy" => Language::Fortran,
            _ => Language::C,
        };
        self != meant
    }
}

const FORTRAN: [&str; 8] = ["f", "for", "ftn", "fpp", "f90", "f95", "f03", "f08"];

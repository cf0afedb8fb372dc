//! Tables of characters that the C++ library fills when they are used first, without a lock: `std::regex` and streams narrow and widen
//! by `std::ctype<char>`, whose functions are compiled into the program.
//!
//! The standard promises that this is no race, and what is written is always the same. So the tables of the classic locale are
//! filled before the first run. Those of other locales are not: a race on them is reported.

use crate::core::loader::next;
use core::ffi::c_void;

type Locale = *const c_void;
type Facet = *const c_void;

/// Fills the tables, if the program has them.
pub(crate) fn prepare() {
    let classic = next(c"_ZNSt6locale7classicEv");
    let facet = next(c"_ZSt9use_facetISt5ctypeIcEERKT_RKSt6locale");
    let narrow = next(c"_ZNKSt5ctypeIcE14_M_narrow_initEv");
    let widen = next(c"_ZNKSt5ctypeIcE13_M_widen_initEv");
    let (Some(classic), Some(facet), Some(narrow), Some(widen)) = (classic, facet, narrow, widen)
    else {
        return;
    };
    // SAFETY: by their names, functions of the C++ library with these arguments: the classic locale, its facet for characters, and two
    // functions of that. No other thread runs yet.
    unsafe {
        let classic: extern "C" fn() -> Locale = core::mem::transmute(classic);
        let facet: extern "C" fn(Locale) -> Facet = core::mem::transmute(facet);
        let facet = facet(classic());
        for fill in [narrow, widen] {
            let fill: extern "C" fn(Facet) = core::mem::transmute(fill);
            fill(facet);
        }
    }
}

//! A set of source positions that only grows. Asked at every weakly ordered operation, so a hit is one probe.

use alloc::vec::Vec;
use reweave_model::Site;

/// Open addressing; [`Site::ANY`] marks a free place and is no member.
#[derive(Clone, Debug, Default)]
pub(super) struct Sites {
    table: Vec<Site>,
    pub(super) used: usize,
}

impl Sites {
    pub(super) fn add(&mut self, site: Site) {
        if site == Site::ANY {
            return;
        }
        // At most half full.
        if self.table.len() < 2 * (self.used + 1) {
            let size = (self.table.len() * 2).max(64);
            let old = core::mem::replace(&mut self.table, alloc::vec![Site::ANY; size]);
            for site in old {
                let place = self.place(site);
                self.table[place] = site;
            }
        }
        let place = self.place(site);
        if self.table[place] != site {
            self.table[place] = site;
            self.used += 1;
        }
    }

    /// Where it is, or would be.
    fn place(&self, site: Site) -> usize {
        let hash = site.0.wrapping_mul(0x9e37_79b9) >> (32 - self.table.len().trailing_zeros());
        let mut place = hash as usize;
        while self.table[place] != site && self.table[place] != Site::ANY {
            place = (place + 1) % self.table.len();
        }
        place
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Site> + '_ {
        let members = self.table.iter().filter(|site| **site != Site::ANY);
        members.copied()
    }
}

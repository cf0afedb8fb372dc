//! The steps as sentences, one after the other: for a screen reader, and where columns help nobody.

use super::{
    Style,
    layout::{Row, wrap},
};

/// One paragraph a step.
pub(crate) fn prose(headers: &[String], rows: &[Row], style: Style) -> String {
    let mut out = String::new();
    let mut left_out = 0;
    for row in rows {
        if !style.full && !row.matters {
            left_out += 1;
            continue;
        }
        out += &skipped(left_out);
        left_out = 0;
        let when = match (row.step, row.sign) {
            (Some(step), _) => format!("Step {}, ", step + 1),
            (None, "!") => "Here it fails: ".into(),
            (None, "x") => "At the end ".into(),
            (None, _) => String::new(),
        };
        let mut text = format!("{when}{}: {}.", headers[row.thread], row.text);
        if !row.place.is_empty() {
            text += &format!(" At {}.", row.place);
        }
        if let Some(source) = &row.source {
            text += &format!(" Source: {source}");
        }
        out += &wrap(&text, style.width, "");
    }
    out + &skipped(left_out)
}

fn skipped(steps: usize) -> String {
    match steps {
        0 => String::new(),
        1 => "One step is left out; --full tells it.\n".into(),
        steps => format!("{steps} steps are left out; --full tells them.\n"),
    }
}

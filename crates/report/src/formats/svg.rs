//! A search on a cluster as a picture: active workers, executions a second and pieces over time, with faults.

use crate::{
    fleet::{FleetCourse, FleetSample},
    text::grouped,
};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 70.0;
const PANEL: f64 = 110.0;
const GAP: f64 = 46.0;
const TOP: f64 = 34.0;

/// What one panel shows.
struct Panel {
    title: &'static str,
    /// Name, colour, values; the first is filled.
    curves: Vec<(&'static str, &'static str, Vec<f64>)>,
}

/// The picture, as a file or as a part of a page; `None`: there is nothing to show.
pub fn svg(course: &FleetCourse) -> Option<String> {
    let samples = &course.samples;
    let end = samples.last().filter(|last| last.at_s > 0.0)?.at_s;
    let panels = panels(samples);
    let height = TOP + panels.len() as f64 * (PANEL + GAP);
    let across = |at_s: f64| LEFT + (at_s / end).clamp(0.0, 1.0) * (WIDTH - LEFT - 10.0);
    let times: Vec<f64> = samples.iter().map(|it| across(it.at_s)).collect();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"Active workers, executions a second and pieces over time\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n"
    );
    for (index, panel) in panels.iter().enumerate() {
        out += &drawn(panel, TOP + index as f64 * (PANEL + GAP), &times, end);
    }
    out += &faults(samples, &times, height - GAP);
    Some(out + "</svg>\n")
}

fn panels(samples: &[FleetSample]) -> Vec<Panel> {
    let of = |value: fn(&FleetSample) -> u64| samples.iter().map(|it| value(it) as f64).collect();
    vec![
        Panel {
            title: "workers",
            curves: vec![
                ("active", "#2a78c2", of(|it| it.busy)),
                ("there", "#888888", of(|it| it.slots)),
            ],
        },
        Panel {
            title: "executions a second",
            curves: vec![("", "#3a9a5c", rates(samples))],
        },
        Panel {
            title: "pieces that are out",
            curves: vec![("", "#b07a1e", of(|it| it.pieces))],
        },
    ]
}

/// Executions a second up to each sample.
fn rates(samples: &[FleetSample]) -> Vec<f64> {
    let rate = |two: &[FleetSample]| {
        let made = two[1].executions.saturating_sub(two[0].executions) as f64;
        made / (two[1].at_s - two[0].at_s).max(1e-3)
    };
    let mut rates: Vec<f64> = samples.windows(2).map(rate).collect();
    rates.insert(0, rates.first().copied().unwrap_or_default());
    rates
}

fn drawn(panel: &Panel, top: f64, times: &[f64], end: f64) -> String {
    let values = panel.curves.iter().flat_map(|(.., values)| values);
    let most = values.fold(1.0, |most: f64, value| most.max(*value));
    let bottom = top + PANEL;
    let mut out = String::new();
    let names = panel.curves.iter().filter(|(name, ..)| !name.is_empty());
    let names: String = names
        .map(|(name, colour, _)| format!(" <tspan fill=\"{colour}\">{name}</tspan>"))
        .collect();
    let (title, largest) = (panel.title, grouped(most as u64));
    for (index, (_, colour, values)) in panel.curves.iter().enumerate() {
        let line = stairs(times, values, |value| bottom - value / most * PANEL);
        if index == 0 {
            let last = times.last().copied().unwrap_or(LEFT);
            out += &format!(
                "<path d=\"M{LEFT:.1},{bottom:.1} {line} L{last:.1},{bottom:.1} Z\" fill=\"{colour}\" fill-opacity=\"0.25\"/>\n"
            );
        }
        let start = line.replacen('L', "M", 1);
        out += &format!("<path d=\"{start}\" fill=\"none\" stroke=\"{colour}\"/>\n");
    }
    let (before, right, under) = (LEFT - 6.0, WIDTH - 10.0, bottom + 16.0);
    out += &format!(
        "<path d=\"M{LEFT},{top} V{bottom} H{right}\" fill=\"none\" stroke=\"#888888\"/>\n\
         <text x=\"{LEFT}\" y=\"{:.1}\">{title}{names}</text>\n\
         <text x=\"{before}\" y=\"{:.1}\" text-anchor=\"end\">{largest}</text>\n\
         <text x=\"{before}\" y=\"{bottom}\" text-anchor=\"end\">0</text>\n\
         <text x=\"{right}\" y=\"{under}\" text-anchor=\"end\">{end:.1} s</text>\n",
        top - 8.0,
        top + 10.0,
    );
    out
}

/// A value holds until the next one.
fn stairs(times: &[f64], values: &[f64], height: impl Fn(f64) -> f64) -> String {
    let mut out = String::new();
    let mut before = None;
    for (x, value) in times.iter().zip(values) {
        let y = height(*value);
        if let Some(before) = before {
            out += &format!("L{x:.1},{before:.1} ");
        }
        out += &format!("L{x:.1},{y:.1} ");
        before = Some(y);
    }
    out
}

/// A mark where workers fell silent, and one where reports came again.
fn faults(samples: &[FleetSample], times: &[f64], bottom: f64) -> String {
    let mut out = String::new();
    for (two, x) in samples.windows(2).zip(&times[1..]) {
        let lost = two[1].lost.saturating_sub(two[0].lost);
        let repeated = two[1].repeated.saturating_sub(two[0].repeated);
        let what = match (lost, repeated) {
            (0, 0) => continue,
            (0, _) => format!("reports that came again: {repeated}"),
            (_, 0) => format!("workers lost: {lost}"),
            (_, _) => format!("workers lost: {lost}, reports that came again: {repeated}"),
        };
        let at = two[1].at_s;
        out += &format!(
            "<path d=\"M{x:.1},{TOP} V{bottom:.1}\" stroke=\"#c0392b\" stroke-dasharray=\"3 3\"><title>{at:.1} s: {what}</title></path>\n"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_s: f64, busy: u64, executions: u64, lost: u64) -> FleetSample {
        FleetSample {
            at_s,
            slots: 4,
            busy,
            pieces: busy.saturating_mul(2),
            executions,
            lost,
            ..FleetSample::default()
        }
    }

    /// 1,000 executions in the first second, 500 in the second.
    #[test]
    fn a_course_is_drawn_to_scale() {
        let course = FleetCourse::of(vec![
            sample(0.0, 0, 0, 0),
            sample(1.0, 4, 1000, 0),
            sample(2.0, 2, 1500, 1),
        ]);
        let text = svg(&course).expect("it has a length");
        // Four workers are the top of the first panel, two the middle; the second sample is in the middle.
        assert!(text.contains("L410.0,34.0"), "{text}");
        assert!(text.contains("L750.0,89.0"), "{text}");
        assert!(text.contains(">1,000</text>"), "{text}");
        assert!(text.contains("2.0 s: workers lost: 1"), "{text}");
        assert_eq!(text.matches("stroke-dasharray").count(), 1, "{text}");
    }

    #[test]
    fn nothing_is_no_picture() {
        assert_eq!(svg(&FleetCourse::default()), None);
        let still = FleetCourse::of(vec![sample(0.0, 1, 1, 0); 2]);
        assert_eq!(svg(&still), None);
    }

    #[test]
    fn numbers_of_a_damaged_file_are_drawn() {
        let mut odd = vec![sample(5.0, u64::MAX, u64::MAX, 9), sample(1e308, 0, 0, 0)];
        odd.push(sample(3.0, 1, 1, 1));
        let course = FleetCourse::of(odd);
        let text = svg(&course).expect("its last moment is not the beginning");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

//! Curves through points by the method of Levenberg and Marquardt, later points weighing more.

/// What is laid through the estimates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Curve {
    /// Nothing: the last estimate counts.
    Empty,
    /// `f(t) = b`
    Constant,
    /// `f(t) = a t + b`
    Linear,
    /// `f(t) = a ln t + b`
    Logarithmic,
}

impl Curve {
    /// All of them.
    pub const ALL: [Curve; 4] = [
        Curve::Empty,
        Curve::Constant,
        Curve::Linear,
        Curve::Logarithmic,
    ];
}

/// Where the curve through the points meets `f(t) = t`: the natural logarithm of that. Points are times and natural logarithms of
/// estimates. `None` if there is no such place, or none that is not past already.
pub(crate) fn meet(curve: Curve, points: &[(f64, f64)]) -> Option<f64> {
    points.first()?;
    let last = points.iter().map(|(time, _)| *time).fold(0.0, f64::max);
    // Estimates are counted in units of the largest one: they may be too large for numbers.
    let unit = points
        .iter()
        .map(|(_, ln)| *ln)
        .fold(f64::NEG_INFINITY, f64::max);
    let values = points.iter().map(|(time, ln)| Point {
        x: abscissa(curve, *time, unit),
        y: (ln - unit).exp(),
        weight: *time / last,
    });
    let values: Vec<Point> = values.collect();
    let [a, b] = match curve {
        Curve::Empty => return None,
        Curve::Constant => fitted(&values, 1),
        Curve::Linear | Curve::Logarithmic => fitted(&values, 2),
    };
    let met = match curve {
        Curve::Linear => b / (1.0 - a),
        // In units: u = a (ln unit + ln u) + b.
        Curve::Logarithmic => largest_root(a, a * unit + b)?,
        Curve::Constant | Curve::Empty => b,
    };
    let ln = met.ln() + unit;
    // Not a number, or in the past: no solution.
    (ln.is_finite() && ln >= last.ln()).then_some(ln)
}

struct Point {
    x: f64,
    y: f64,
    weight: f64,
}

fn abscissa(curve: Curve, time: f64, unit: f64) -> f64 {
    let ln = time.ln();
    match curve {
        Curve::Logarithmic => ln,
        _ => (ln - unit).exp(),
    }
}

/// The `a` and `b` of `y = a x + b` with the least sum of weighted squares; with one parameter, `a` is 0.
fn fitted(points: &[Point], parameters: usize) -> [f64; 2] {
    let start = points.last().map_or(1.0, |point| point.y);
    let mut best = [0.0, start];
    let mut error = squares(points, best);
    let mut damping = 1e-3;
    for _ in 0..100 {
        let tried = step(points, best, parameters, damping);
        let reached = squares(points, tried);
        if !reached.is_finite() || reached > error {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
            continue;
        }
        let gained = error - reached;
        (best, error) = (tried, reached);
        damping = (damping / 10.0).max(1e-15);
        if gained <= 1e-14 * error {
            break;
        }
    }
    best
}

fn squares(points: &[Point], [a, b]: [f64; 2]) -> f64 {
    let square = |point: &Point| point.weight * (a * point.x + b - point.y).powi(2);
    points.iter().map(square).sum()
}

/// One step: between that of Gauss and Newton and one straight downhill, by the damping.
fn step(points: &[Point], [a, b]: [f64; 2], parameters: usize, damping: f64) -> [f64; 2] {
    let (mut xx, mut x1, mut one, mut gx, mut g1) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for point in points {
        let off = point.weight * (point.y - a * point.x - b);
        xx += point.weight * point.x * point.x;
        x1 += point.weight * point.x;
        one += point.weight;
        gx += off * point.x;
        g1 += off;
    }
    let (dxx, d1) = (xx * (1.0 + damping), one * (1.0 + damping));
    if parameters == 1 {
        return [a, b + g1 / d1];
    }
    let determinant = dxx * d1 - x1 * x1;
    [
        a + (gx * d1 - g1 * x1) / determinant,
        b + (g1 * dxx - gx * x1) / determinant,
    ]
}

/// The largest solution of `u = a ln u + c`; `None` if there is none.
fn largest_root(a: f64, c: f64) -> Option<f64> {
    let over = |u: f64| u - a * u.ln() - c;
    // The difference is convex for positive `a`, with its least value at `a`; it grows for others.
    let mut low = if a > 0.0 { a } else { f64::MIN_POSITIVE };
    if over(low) > 0.0 {
        return None;
    }
    let mut high = low.max(1.0);
    while over(high) < 0.0 {
        high *= 2.0;
        if !high.is_finite() {
            return None;
        }
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        match over(middle) < 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(f: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let times = (1..60).map(f64::from);
        times.map(|time| (time, f(time).ln())).collect()
    }

    #[test]
    fn curves_are_found_again() {
        let constant = meet(Curve::Constant, &points(|_| 500.0)).unwrap();
        assert!((constant.exp() - 500.0).abs() < 1e-6);
        // t = 0.5 t + 300 at 600.
        let linear = meet(Curve::Linear, &points(|t| 0.5 * t + 300.0)).unwrap();
        assert!((linear.exp() - 600.0).abs() < 1e-3);
        let met = meet(Curve::Logarithmic, &points(|t| 40.0 * t.ln() + 100.0))
            .unwrap()
            .exp();
        assert!((met - 40.0 * met.ln() - 100.0).abs() < 1e-3);
    }

    #[test]
    fn no_solution_is_none() {
        assert_eq!(meet(Curve::Empty, &points(|_| 500.0)), None);
        assert_eq!(meet(Curve::Linear, &points(|t| 2.0 * t + 300.0)), None);
        assert_eq!(meet(Curve::Constant, &points(|_| 5.0)), None);
        assert_eq!(meet(Curve::Logarithmic, &[]), None);
    }

    #[test]
    fn estimates_beyond_floating_point() {
        let huge: Vec<(f64, f64)> = (1..60).map(|time| (f64::from(time), 4000.0)).collect();
        for curve in [Curve::Constant, Curve::Linear, Curve::Logarithmic] {
            let met = meet(curve, &huge).unwrap();
            assert!((met - 4000.0).abs() < 1e-6, "{curve:?}: {met}");
        }
    }
}

//! Plots of rows that differ in their size or their number of ranks: one SVG file for each test and
//! variant, both axes logarithmic, one line for each library.
//!
//! Enters: medians. Leaves: `target/compare/GROUP-TEST-VARIANT.svg`.

use super::folder;
use super::samples::{self, Key};
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

/// The size of a picture and the margins of its axes.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 44.0;

/// One colour for each library, in the order of their names; told apart by people who see few. What
/// comes after the last is dashed.
const COLOURS: [&str; 6] = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#888888"];

/// One library's line: points of a size and a value.
pub(crate) type Line<'a> = (&'a str, Vec<(f64, f64)>);

/// Plots every test of a group that has at least two sizes.
pub(super) fn plot<'a>(
    group: &str,
    names: &[String],
    rows: impl Iterator<Item = (&'a Key, &'a BTreeMap<String, f64>)>,
) -> Result<()> {
    let mut pictures: BTreeMap<(&str, &str), Vec<_>> = BTreeMap::new();
    for (key, medians) in rows.filter(|(key, _)| key.bytes.is_some()) {
        pictures.entry((&key.test, &key.variant)).or_default().push((key, medians));
    }
    for ((test, variant), rows) in pictures.into_iter().filter(|(_, rows)| rows.len() > 1) {
        let lines: Vec<Line> = names
            .iter()
            .map(|name| {
                let points = rows.iter().filter_map(|(key, medians)| {
                    // Nothing has no logarithm; it is drawn at one byte.
                    Some((key.bytes?.max(1) as f64, *medians.get(name)?))
                });
                (name.as_str(), points.collect())
            })
            .collect();
        let title = format!("{test}, {variant} ({})", rows[0].0.unit);
        let file = folder().join(format!("{group}-{test}-{variant}.svg"));
        fs::write(file, picture(&title, &lines))?;
    }
    Ok(())
}

/// Where values lie on an axis.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (low, high) = values
            .filter(|value| *value > 0.0)
            .fold((f64::MAX, f64::MIN_POSITIVE), |(a, b), v| (a.min(v), b.max(v)));
        Scale { low: low.min(high).ln(), high: high.ln(), from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let span = (self.high - self.low).max(1e-9);
        self.from + (value.ln() - self.low) / span * (self.to - self.from)
    }
}

/// Draws lines into a picture, both axes logarithmic.
pub(crate) fn picture(title: &str, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|(_, points)| points.iter());
    let x = Scale::over(points().map(|p| p.0), LEFT, WIDTH - RIGHT);
    let y = Scale::over(points().map(|p| p.1), HEIGHT - BOTTOM, TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{title}</text>\n"
    );
    axes(&mut svg, &x, &y);
    for (i, (name, points)) in lines.iter().enumerate().filter(|(_, line)| !line.1.is_empty()) {
        let colour = COLOURS[i % COLOURS.len()];
        let path: Vec<String> = points
            .iter()
            .map(|(size, value)| format!("{:.1},{:.1}", x.place(*size), y.place(*value)))
            .collect();
        let wide = if i == 0 { 2.5 } else { 1.5 };
        let dashes = if i < COLOURS.len() { "" } else { " stroke-dasharray=\"5 3\"" };
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{wide}\"{dashes}/>",
            path.join(" ")
        );
        let (legend, line) = (TOP + 18.0 * i as f64 + 8.0, WIDTH - RIGHT + 10.0);
        let _ = writeln!(
            svg,
            "<text x=\"{line}\" y=\"{legend}\" fill=\"{colour}\" font-weight=\"bold\">{name}</text>"
        );
    }
    svg + "</svg>\n"
}

/// The axes, with a mark at every fourth power of two below and at 1, 2 and 5 times the powers of
/// ten at the side.
fn axes(svg: &mut String, x: &Scale, y: &Scale) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for power in (0..40).step_by(2) {
        let size = 1_u64 << power;
        let at = x.place(size as f64);
        if (LEFT - 0.5..=right + 0.5).contains(&at) {
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                samples::size(size)
            );
        }
    }
    for power in -4..8 {
        for digit in [1.0, 2.0, 5.0] {
            let value = digit * 10_f64.powi(power);
            let at = y.place(value);
            if (TOP - 0.5..=bottom + 0.5).contains(&at) {
                let _ = writeln!(
                    svg,
                    "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#e4e4e4\"/>\
                     <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                    LEFT - 6.0,
                    at + 4.0
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_lies_between_the_axes() {
        let lines: Vec<Line> = vec![
            ("ours", vec![(1.0, 0.2), (1024.0, 0.5), (1048576.0, 60.0)]),
            ("theirs", vec![(1.0, 0.3), (1024.0, 0.4)]),
        ];
        let svg = picture("latency", &lines);
        let paths: Vec<&str> =
            svg.split("points=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(paths.len(), 2);
        for point in paths.iter().flat_map(|path| path.split(' ')) {
            let (x, y) = point.split_once(',').expect("a pair");
            let (x, y): (f64, f64) = (x.parse().expect("x"), y.parse().expect("y"));
            assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{point}");
            assert!((TOP..=HEIGHT - BOTTOM).contains(&y), "{point}");
        }
    }
}

//! A picture of choices: for each collective a map of ranks by bytes, each field in the colour of what is chosen.

use std::fmt::Write;

use crate::coll::cost::Way;

/// The size of a field, of the frame of a map, and how many maps stand side by side.
const FIELD: [usize; 2] = [22, 9];
const FRAME: [usize; 2] = [64, 52];
const ABREAST: usize = 3;

/// A map: its name, the ranks of its columns, the bytes of its rows, and what is chosen, row by row.
pub(super) struct Map {
    pub(super) name: String,
    pub(super) ranks: Vec<u32>,
    pub(super) bytes: Vec<usize>,
    pub(super) chosen: Vec<Way>,
}

/// Told apart by people who see few colours.
fn colour(way: Way) -> &'static str {
    match way {
        Way::Flat => "#0072b2",
        Way::Shares => "#009e73",
        Way::Tree => "#d55e00",
    }
}

pub(super) fn name(way: Way) -> String {
    format!("{way:?}").to_lowercase()
}

pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// Draws maps of one size, and below them what the colours say.
pub(super) fn picture(maps: &[Map]) -> String {
    let widest = |of: fn(&Map) -> usize| maps.iter().map(of).max().unwrap_or(0);
    let wide = FRAME[0] + FIELD[0] * widest(|map| map.ranks.len());
    let high = FRAME[1] + FIELD[1] * widest(|map| map.bytes.len());
    let (width, height) = (wide * ABREAST + 16, high * maps.len().div_ceil(ABREAST) + 30);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"9\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let mut used = Vec::new();
    for (index, map) in maps.iter().enumerate() {
        let left = index % ABREAST * wide + FRAME[0] - 10;
        draw(&mut svg, map, left, index / ABREAST * high + 24);
        used.extend_from_slice(&map.chosen);
    }
    used.sort_unstable();
    used.dedup();
    for (index, way) in used.into_iter().enumerate() {
        let (left, top) = (FRAME[0] + 70 * index, height - 20);
        field(&mut svg, way, [left, top]);
        let (left, top) = (left + FIELD[0] + 4, top + 8);
        let _ = write!(svg, "<text x=\"{left}\" y=\"{top}\">{}</text>", name(way));
    }
    svg + "</svg>\n"
}

fn draw(svg: &mut String, map: &Map, left: usize, top: usize) {
    let _ =
        write!(svg, "<text x=\"{left}\" y=\"{}\" font-size=\"12\">{}</text>", top - 8, map.name);
    let columns = map.ranks.len();
    // The longest messages are on top.
    let row = |index: usize| top + (map.bytes.len() - 1 - index) * FIELD[1];
    for (index, way) in map.chosen.iter().enumerate() {
        field(svg, *way, [left + index % columns * FIELD[0], row(index / columns)]);
    }
    for (index, bytes) in map.bytes.iter().enumerate().filter(|(_, bytes)| **bytes > 0).step_by(3) {
        let (left, top) = (left - 4, row(index) + 8);
        let text = size(*bytes);
        let _ = write!(svg, "<text x=\"{left}\" y=\"{top}\" text-anchor=\"end\">{text}</text>");
    }
    for (index, ranks) in map.ranks.iter().enumerate() {
        let (left, top) = (left + index * FIELD[0] + FIELD[0] / 2, row(0) + FIELD[1] + 11);
        let _ = write!(svg, "<text x=\"{left}\" y=\"{top}\" text-anchor=\"middle\">{ranks}</text>");
    }
    svg.push('\n');
}

fn field(svg: &mut String, way: Way, [left, top]: [usize; 2]) {
    let [wide, high] = FIELD;
    let _ = write!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{high}\" fill=\"{}\" stroke=\"#ffffff\"/>",
        colour(way)
    );
}

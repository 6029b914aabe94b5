//! Sets of ranks in words: `rank 3`, `ranks 0-2, 7`.

/// Names an ascending list of ranks.
pub(crate) fn ranges(ranks: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => parts.push((rank, rank)),
        }
    }
    let shown: Vec<String> = parts
        .iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first}-{last}"),
        })
        .collect();
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn neighbours_are_joined() {
        assert_eq!(ranges(&[3]), "rank 3");
        assert_eq!(ranges(&[0, 1]), "ranks 0, 1");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "ranks 0-2, 5, 7, 8");
    }
}

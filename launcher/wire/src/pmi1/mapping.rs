//! The node map `PMI_process_mapping`, as in `(vector,(0,2,4),(2,1,3))`: blocks of (first node,
//! number of nodes, ranks on each of them); the blocks repeat until all ranks have a place.

/// The map of ranks of which rank `r` is on node `nodes[r]`.
pub fn write(nodes: &[usize]) -> String {
    // The blocks repeat, so that a map with a period is told by its first one.
    let repeats = |&period: &usize| nodes.iter().zip(&nodes[period..]).all(|(a, b)| a == b);
    let again = |&period: &usize| nodes[period] == nodes[0];
    let period = (1..nodes.len()).filter(again).find(repeats).unwrap_or(nodes.len());
    // One node for all is written as one block, since some readers take no other form for it.
    let period = if period == 1 { nodes.len() } else { period };
    let mut blocks: Vec<(usize, usize, usize)> = Vec::new();
    for run in nodes[..period].chunk_by(|a, b| a == b) {
        match blocks.last_mut() {
            Some((first, count, each)) if *each == run.len() && *first + *count == run[0] => {
                *count += 1;
            }
            _ => blocks.push((run[0], 1, run.len())),
        }
    }
    let block = |(first, count, each): &(usize, usize, usize)| format!("({first},{count},{each})");
    format!("(vector,{})", blocks.iter().map(block).collect::<Vec<_>>().join(","))
}

/// The node of each of `ranks` ranks, or `None` when `text` is not such a map.
pub fn parse(text: &str, ranks: usize) -> Option<Vec<usize>> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let inner = text.strip_prefix("(vector,")?.strip_suffix(')')?;
    let mut blocks = Vec::new();
    for block in inner.strip_prefix('(')?.strip_suffix(')')?.split("),(") {
        let mut fields = block.split(',').map(|field| field.parse::<usize>().ok());
        let (first, nodes, each) = (fields.next()??, fields.next()??, fields.next()??);
        if fields.next().is_some() || nodes == 0 || each == 0 {
            return None;
        }
        blocks.push((first, nodes, each));
    }
    let mut map = Vec::new();
    while map.len() < ranks {
        for &(first, nodes, each) in &blocks {
            for place in 0..nodes {
                let take = each.min(ranks - map.len());
                map.extend(std::iter::repeat_n(first.checked_add(place)?, take));
                if map.len() == ranks {
                    return Some(map);
                }
            }
        }
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn maps_as_launchers_write_them() {
        assert_eq!(write(&[0, 0, 0]), "(vector,(0,1,3))");
        assert_eq!(write(&[0]), "(vector,(0,1,1))");
        assert_eq!(write(&[0, 0, 1, 1, 2, 2]), "(vector,(0,3,2))");
        assert_eq!(write(&[1, 2, 1, 2, 1]), "(vector,(1,2,1))");
        assert_eq!(write(&[1, 1, 2]), "(vector,(1,1,2),(2,1,1))");
        assert_eq!(parse("(vector,(0,2,2))", 5), Some(vec![0, 0, 1, 1, 0]));
        assert_eq!(parse("(vector, (0,1,1), (4,1,2))", 3), Some(vec![0, 4, 4]));
        assert_eq!(parse("(vector,(0,0,1))", 2), None);
        assert_eq!(parse("(vector)", 2), None);
    }

    proptest! {
        #[test]
        fn maps_come_back(nodes in proptest::collection::vec(0usize..3, 1..12)) {
            prop_assert_eq!(parse(&write(&nodes), nodes.len()), Some(nodes));
        }

        #[test]
        fn any_text_parses_or_not(text in "[(),vector0-9 ]{0,60}", ranks in 0usize..50) {
            if let Some(map) = parse(&text, ranks) {
                prop_assert_eq!(map.len(), ranks);
            }
        }
    }
}

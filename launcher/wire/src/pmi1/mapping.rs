//! The node map `PMI_process_mapping`, as in `(vector,(0,2,4),(2,1,3))`: blocks of (first node,
//! number of nodes, ranks on each of them); the blocks repeat until all ranks have a place.

/// The map of `ranks` ranks that are all on one node.
pub fn one_node(ranks: usize) -> String {
    format!("(vector,(0,1,{ranks}))")
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
        assert_eq!(parse(&one_node(3), 3), Some(vec![0, 0, 0]));
        assert_eq!(parse("(vector,(0,2,2))", 5), Some(vec![0, 0, 1, 1, 0]));
        assert_eq!(parse("(vector, (0,1,1), (4,1,2))", 3), Some(vec![0, 4, 4]));
        assert_eq!(parse("(vector,(0,0,1))", 2), None);
        assert_eq!(parse("(vector)", 2), None);
    }

    proptest! {
        #[test]
        fn any_text_parses_or_not(text in "[(),vector0-9 ]{0,60}", ranks in 0usize..50) {
            if let Some(map) = parse(&text, ranks) {
                prop_assert_eq!(map.len(), ranks);
            }
        }
    }
}

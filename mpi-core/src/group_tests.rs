//! Groups against plain vectors, by the words of MPI-5.0 §7.3.

use super::*;
use crate::error::ErrorClass;
use proptest::prelude::*;

fn peers() -> impl Strategy<Value = Vec<PeerId>> {
    let any_order = prop::collection::hash_set(0u32..24, 0..16)
        .prop_flat_map(|set| Just(set.into_iter().collect::<Vec<_>>()).prop_shuffle());
    let regular =
        (0u32..10, 1usize..4, 0usize..12, any::<bool>()).prop_map(|(first, stride, n, back)| {
            let mut list: Vec<u32> = (first..).step_by(stride).take(n).collect();
            if back {
                list.reverse();
            }
            list
        });
    prop_oneof![any_order, regular].prop_map(|list| list.into_iter().map(PeerId).collect())
}

fn list(group: &Group) -> Vec<PeerId> {
    group.iter().collect()
}

proptest! {
    #[test]
    fn ranks_lead_to_peers_and_back(members in peers(), stranger in 0u32..40) {
        let group = Group::new(members.clone());
        prop_assert_eq!(group.size() as usize, members.len());
        prop_assert_eq!(list(&group), members.clone());
        let place = members.iter().position(|peer| peer.0 == stranger).map(|rank| rank as u32);
        prop_assert_eq!(group.rank_of(PeerId(stranger)), place);
        prop_assert_eq!(group.peer(members.len() as u32), None);
    }

    #[test]
    fn set_operations_keep_the_order_of_the_standard(a in peers(), b in peers()) {
        let (one, two) = (Group::new(a.clone()), Group::new(b.clone()));
        let kept = |wanted: bool| a.iter().copied().filter(|p| b.contains(p) == wanted).collect::<Vec<_>>();
        prop_assert_eq!(list(&one.intersection(&two)), kept(true));
        prop_assert_eq!(list(&one.difference(&two)), kept(false));
        let mut union = a.clone();
        union.extend(b.iter().filter(|p| !a.contains(p)));
        prop_assert_eq!(list(&one.union(&two)), union);
        let (mut x, mut y) = (a.clone(), b.clone());
        let identical = x == y;
        x.sort();
        y.sort();
        let expected = match (identical, x == y) {
            (true, _) => Comparison::Identical,
            (false, true) => Comparison::Similar,
            _ => Comparison::Unequal,
        };
        prop_assert_eq!(one.compare(&two), expected);
        let ranks: Vec<i32> = (0..a.len() as i32).chain([PROC_NULL]).collect();
        let translated = one.translate_ranks(&ranks, &two).unwrap();
        for (rank, got) in translated.iter().take(a.len()).enumerate() {
            let there = b.iter().position(|peer| *peer == a[rank]);
            prop_assert_eq!(*got, there.map_or(UNDEFINED, |place| place as i32));
        }
        prop_assert_eq!(translated[a.len()], PROC_NULL);
    }

    #[test]
    fn incl_and_excl_select_by_rank(members in peers(), ranks in prop::collection::vec(-1i32..18, 0..6)) {
        let group = Group::new(members.clone());
        let in_range = ranks.iter().all(|r| (0..members.len() as i32).contains(r));
        let distinct = (1..ranks.len()).all(|i| !ranks[..i].contains(&ranks[i]));
        match (group.incl(&ranks), group.excl(&ranks)) {
            (Ok(incl), Ok(excl)) => {
                prop_assert!(in_range && distinct);
                let chosen: Vec<PeerId> = ranks.iter().map(|r| members[*r as usize]).collect();
                prop_assert_eq!(list(&incl), chosen.clone());
                let rest: Vec<PeerId> = members.into_iter().filter(|p| !chosen.contains(p)).collect();
                prop_assert_eq!(list(&excl), rest);
            }
            (Err(a), Err(b)) => {
                prop_assert!(!in_range || !distinct);
                prop_assert_eq!((a.class(), b.class()), (ErrorClass::RANK, ErrorClass::RANK));
            }
            _ => prop_assert!(false, "incl and excl disagree"),
        }
    }

    #[test]
    fn ranges_are_shorthand_for_lists(
        n in 0i32..20,
        ranges in prop::collection::vec([-1i32..21, -1i32..21, -4i32..5], 0..4),
    ) {
        let group = Group::range(PeerId(7), n as u32);
        let naive: Option<Vec<i32>> = ranges.iter().try_fold(Vec::new(), |mut all, &[first, last, stride]| {
            if stride == 0 || (last - first) * stride < 0 {
                return None;
            }
            let mut rank = first;
            while (stride > 0 && rank <= last) || (stride < 0 && rank >= last) {
                all.push(rank);
                rank += stride;
            }
            Some(all)
        });
        match naive.map(|ranks| (group.incl(&ranks), group.excl(&ranks))) {
            Some((Ok(incl), Ok(excl))) => {
                prop_assert_eq!(group.range_incl(&ranges).unwrap(), incl);
                prop_assert_eq!(group.range_excl(&ranges).unwrap(), excl);
            }
            _ => {
                prop_assert!(group.range_incl(&ranges).is_err());
                prop_assert!(group.range_excl(&ranges).is_err());
            }
        }
    }
}

#[test]
fn errors_name_the_argument() {
    let group = Group::range(PeerId(0), 4);
    let error = group.incl(&[0, 4]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ranks has 4 as element 1, but the group has ranks 0 to 3 [MPI_ERR_RANK]"
    );
    let error = group.range_incl(&[[0, 3, 0]]).unwrap_err();
    assert_eq!((error.class(), error.parameter()), (ErrorClass::ARG, Some("ranges")));
    let error = group.translate_ranks(&[-1], &group).unwrap_err();
    assert_eq!((error.class(), error.parameter()), (ErrorClass::RANK, Some("ranks1")));
    assert_eq!(group.range_incl(&[[i32::MIN, i32::MAX, 1]]).unwrap_err().class(), ErrorClass::RANK);
}

#[test]
fn a_regular_group_keeps_no_list() {
    let group = Group::range(PeerId(0), 1_000_000).range_excl(&[[1, 999_999, 2]]).unwrap();
    assert!(matches!(group.0, Members::Progression { stride: 2, len: 500_000, .. }));
    assert_eq!(group.rank_of(PeerId(10)), Some(5));
}

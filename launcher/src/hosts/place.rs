//! Dealing out ranks to hosts.
//!
//! By slot: each host gets as many neighbouring ranks as it has slots, and when all have theirs and
//! ranks are left, it begins again (more ranks than slots are always allowed). Where nobody said how
//! many slots there are, the hosts get equal shares. By host: one rank for each host in turn.

use super::{Host, is_this};
use crate::refuse::Refusal;

/// How to deal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Neighbouring ranks on one host, up to its slots.
    Slot,
    /// Neighbouring ranks on different hosts.
    Node,
    /// This many neighbouring ranks on each host, whatever its slots.
    PerNode(usize),
}

/// Hosts, and the host of each rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    /// All hosts; the first is the machine that mpirun runs on.
    pub(crate) hosts: Vec<String>,
    /// For each rank the index of its host.
    pub(crate) node_of: Vec<usize>,
    /// How many slots each host has; none where no hosts were named.
    room: Vec<usize>,
    /// How many ranks each host has.
    used: Vec<usize>,
    /// The most that it may have.
    most: Vec<Option<usize>>,
}

impl Placement {
    /// No ranks yet; mpirun's machine is `this`.
    pub(crate) fn new(this: &str) -> Placement {
        Placement {
            hosts: vec![this.to_string()],
            node_of: Vec::new(),
            room: vec![0],
            used: vec![0],
            most: vec![None],
        }
    }

    /// Deals out the next `ranks` ranks, the copies of one program, to `hosts`.
    pub(crate) fn deal(&mut self, ranks: usize, hosts: &[Host], rule: Rule) -> Result<(), Refusal> {
        if hosts.is_empty() {
            self.node_of.resize(self.node_of.len() + ranks, 0);
            self.used[0] += ranks;
            return Ok(());
        }
        let nodes: Vec<usize> = hosts.iter().map(|host| self.node(host)).collect();
        let share = ranks.div_ceil(hosts.len());
        let known = hosts.iter().any(|host| host.slots.is_some());
        let slots: Vec<usize> = hosts
            .iter()
            .map(|host| match (rule, host.slots) {
                (Rule::PerNode(n), _) => n,
                (Rule::Node, slots) => slots.unwrap_or(1).min(1),
                (Rule::Slot, Some(slots)) => slots,
                (Rule::Slot, None) => {
                    if known {
                        1
                    } else {
                        share
                    }
                }
            })
            .collect();
        if slots.iter().all(|&slots| slots == 0) {
            return Err(Refusal::new("the hosts have no slots: there is nowhere to run"));
        }
        // A host that has ranks of an earlier program goes on where that one ended.
        let mut round: Vec<usize> = nodes.iter().map(|&node| self.used[node]).collect();
        let mut left = ranks;
        while left > 0 {
            for (i, &node) in nodes.iter().enumerate() {
                let take = slots[i].saturating_sub(round[i]).min(left);
                round[i] = round[i].saturating_sub(slots[i]);
                self.node_of.resize(self.node_of.len() + take, node);
                self.used[node] += take;
                left -= take;
            }
        }
        self.check()
    }

    /// Leaves out the hosts that got no rank, of which nothing is wanted.
    pub(crate) fn without_idle_hosts(mut self) -> Placement {
        let mut new = vec![0; self.hosts.len()];
        let busy = (1..self.hosts.len()).filter(|&node| self.used[node] > 0);
        for (number, node) in (1..).zip(busy) {
            new[node] = number;
        }
        self.node_of.iter_mut().for_each(|node| *node = new[*node]);
        let mut used = self.used.iter().enumerate().map(|(node, &n)| node == 0 || n > 0);
        self.hosts.retain(|_| used.next() == Some(true));
        self
    }

    /// The sum of the slots, where hosts were named.
    pub(crate) fn slots(&self) -> Option<usize> {
        Some(self.room.iter().sum()).filter(|&slots| slots > 0)
    }

    /// Refuses a host with more ranks than slots; `own` are those of mpirun's where none are told.
    pub(crate) fn refuse_more(&self, own: usize) -> Result<(), Refusal> {
        for (node, (&used, &room)) in self.used.iter().zip(&self.room).enumerate() {
            let slots = if node == 0 && room == 0 { own } else { room };
            if used > slots {
                let host = &self.hosts[node];
                return Err(Refusal::new(format!(
                    "--nooversubscribe: {used} ranks for host {host} are more than its {slots} \
                     slots: start fewer, name more hosts, or leave the option out"
                )));
            }
        }
        Ok(())
    }

    /// The index of a host.
    fn node(&mut self, host: &Host) -> usize {
        let known = self.hosts.iter().position(|name| name.eq_ignore_ascii_case(&host.name));
        let node = match known {
            Some(node) => node,
            None if is_this(&host.name, &self.hosts[0]) => 0,
            None => {
                self.hosts.push(host.name.clone());
                self.used.push(0);
                self.room.push(0);
                self.most.push(None);
                self.hosts.len() - 1
            }
        };
        self.most[node] = self.most[node].max(host.most);
        self.room[node] = self.room[node].max(host.slots.unwrap_or(1));
        node
    }

    fn check(&self) -> Result<(), Refusal> {
        for (node, (&used, most)) in self.used.iter().zip(&self.most).enumerate() {
            if let Some(most) = most.filter(|&most| used > most) {
                return Err(Refusal::new(format!(
                    "{used} ranks for host {} are more than its max_slots, {most}",
                    self.hosts[node]
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(name: &str, slots: Option<usize>) -> Host {
        Host { name: name.to_string(), slots, most: None }
    }

    fn dealt(ranks: usize, hosts: &[Host], rule: Rule) -> Vec<usize> {
        let mut placement = Placement::new("here");
        placement.deal(ranks, hosts, rule).unwrap();
        placement.node_of
    }

    #[test]
    fn by_slot_and_by_host() {
        let counted = [host("a", Some(2)), host("b", Some(1))];
        assert_eq!(dealt(3, &counted, Rule::Slot), [1, 1, 2]);
        assert_eq!(dealt(5, &counted, Rule::Slot), [1, 1, 2, 1, 1]);
        assert_eq!(dealt(4, &counted, Rule::Node), [1, 2, 1, 2]);
        assert_eq!(dealt(5, &counted, Rule::PerNode(2)), [1, 1, 2, 2, 1]);
        let plain = [host("a", None), host("localhost", None)];
        assert_eq!(dealt(5, &plain, Rule::Slot), [1, 1, 1, 0, 0]);
        assert_eq!(dealt(3, &[], Rule::Node), [0, 0, 0]);
        assert_eq!(dealt(3, &[host("a", Some(0)), host("b", Some(1))], Rule::Node), [2, 2, 2]);
    }

    #[test]
    fn several_programs_share_the_slots() {
        let hosts = [host("a", Some(2)), host("b", Some(3))];
        let mut placement = Placement::new("here");
        placement.deal(1, &hosts, Rule::Slot).unwrap();
        placement.deal(3, &hosts, Rule::Slot).unwrap();
        placement.deal(1, &[host("c", None)], Rule::Slot).unwrap();
        assert_eq!(placement.node_of, [1, 1, 2, 2, 3]);
        assert_eq!(placement.hosts, ["here", "a", "b", "c"]);
    }

    #[test]
    fn a_program_goes_on_where_the_one_before_ended() {
        let hosts = [host("a", None), host("b", None)];
        let dealt = |counts: &[usize], rule| {
            let mut placement = Placement::new("here");
            for &ranks in counts {
                placement.deal(ranks, &hosts, rule).unwrap();
            }
            placement.node_of
        };
        assert_eq!(dealt(&[1, 1], Rule::Slot), [1, 2]);
        assert_eq!(dealt(&[1, 3], Rule::Slot), [1, 1, 2, 2]);
        assert_eq!(dealt(&[2, 2, 1], Rule::Slot), [1, 2, 1, 2, 1]);
        assert_eq!(dealt(&[3, 1], Rule::Slot), [1, 1, 2, 2]);
        assert_eq!(dealt(&[1, 2], Rule::Node), [1, 2, 1]);
        assert_eq!(dealt(&[1, 3], Rule::PerNode(2)), [1, 1, 2, 2]);
    }

    #[test]
    fn idle_hosts_are_left_out() {
        let hosts = ["a", "b", "c"].map(|name| host(name, Some(2)));
        let mut placement = Placement::new("here");
        placement.deal(1, &hosts[..1], Rule::Slot).unwrap();
        placement.deal(2, &[host("x", Some(0)), hosts[2].clone()], Rule::Slot).unwrap();
        assert_eq!(placement.slots(), Some(4));
        let placement = placement.without_idle_hosts();
        assert_eq!(placement.hosts, ["here", "a", "c"]);
        assert_eq!(placement.node_of, [1, 2, 2]);
    }

    #[test]
    fn limits_are_kept() {
        let hosts = [Host { name: "a".into(), slots: Some(2), most: Some(3) }];
        let mut placement = Placement::new("here");
        placement.deal(3, &hosts, Rule::Slot).unwrap();
        let refused = placement.deal(1, &hosts, Rule::Slot).unwrap_err();
        assert!(refused.text.contains("host a") && refused.text.contains("max_slots"), "{refused}");
        assert!(Placement::new("x").deal(1, &[host("a", Some(0))], Rule::Slot).is_err());
    }

    #[test]
    fn more_ranks_than_slots_may_be_refused() {
        let mut placement = Placement::new("here");
        placement.deal(3, &[], Rule::Slot).unwrap();
        assert!(placement.refuse_more(3).is_ok());
        assert!(placement.refuse_more(2).unwrap_err().text.contains("host here"));
        let mut placement = Placement::new("here");
        placement.deal(5, &[host("a", Some(2)), host("b", Some(2))], Rule::Slot).unwrap();
        assert!(placement.refuse_more(9).unwrap_err().text.contains("3 ranks for host a"));
    }

    proptest! {
        #[test]
        fn every_rank_gets_a_host_and_slots_are_filled_evenly(
            slots in proptest::collection::vec(1usize..5, 1..6), ranks in 1usize..40, rule in 0usize..3,
        ) {
            let hosts: Vec<Host> =
                slots.iter().enumerate().map(|(i, n)| host(&format!("h{i}"), Some(*n))).collect();
            let rule = [Rule::Slot, Rule::Node, Rule::PerNode(2)][rule];
            let node_of = dealt(ranks, &hosts, rule);
            prop_assert_eq!(node_of.len(), ranks);
            let rounds = |i: usize| {
                let used = node_of.iter().filter(|&&node| node == i + 1).count();
                let each = match rule { Rule::Slot => slots[i], Rule::Node => 1, Rule::PerNode(n) => n };
                (used.div_ceil(each), used / each)
            };
            let begun = (0..slots.len()).map(|i| rounds(i).0).max().unwrap();
            for i in 0..slots.len() {
                prop_assert!(rounds(i).1 + 1 >= begun, "{node_of:?}");
            }
        }
    }
}

//! Dealing whole groups of rows into parts, so that every part has its share of every class as well as groups allow.

use std::collections::BTreeSet;

use crate::data::table::Labels;
use crate::error::{Error, Result};

/// Rows that stay together.
struct Group {
    rows: Vec<usize>,
    /// Its classes, ascending, and the number of its rows in each.
    classes: Vec<(usize, usize)>,
}

/// The groups of labelled rows, in the order of their codes.
pub(super) struct Groups {
    groups: Vec<Group>,
    n_rows: usize,
    /// Rows per class.
    totals: Vec<usize>,
    /// Groups per class.
    per_class: Vec<usize>,
}

impl Groups {
    /// Groups from one code per row; codes may be any numbers. Costs a sort of the rows.
    pub(super) fn new(labels: &Labels, codes: &[usize]) -> Result<Groups> {
        if codes.len() != labels.n_samples() {
            return Err(Error::param(
                "groups",
                format!("{} groups for {} rows; give one group per row", codes.len(), labels.n_samples()),
            ));
        }
        let mut rows: Vec<usize> = (0..codes.len()).collect();
        rows.sort_by_key(|&row| codes[row]);
        let groups: Vec<Group> = rows.chunk_by(|&a, &b| codes[a] == codes[b]).map(|rows| group(labels, rows)).collect();
        let mut per_class = vec![0; labels.n_classes()];
        groups.iter().flat_map(|group| &group.classes).for_each(|&(class, _)| per_class[class] += 1);
        Ok(Groups { groups, n_rows: codes.len(), totals: labels.counts(), per_class })
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The number of groups that contain each class.
    pub(super) fn per_class(&self) -> &[usize] {
        &self.per_class
    }

    /// The number of rows in a group.
    pub(super) fn size(&self, group: usize) -> usize {
        self.groups[group].rows.len()
    }

    /// The part of each row when groups are dealt in the given order: each goes where the class counts and row counts
    /// of the parts then deviate least from their shares. No part stays empty if there are at least as many groups as
    /// parts.
    ///
    /// Deviations are squared and divided by the size of the class, so that a class counts by its share of rows. A
    /// class in two or more groups but in only one part is then repaired, if moving a group or exchanging two can; and
    /// groups are moved as long as that lowers the deviations. Cost: groups x parts x classes of a group, a few times.
    pub(super) fn deal(&self, order: &[usize], shares: &[f64]) -> Vec<usize> {
        let mut deal = Deal::new(self, shares);
        for (k, &group) in order.iter().enumerate() {
            let part = deal.best_part(group, order.len() - k);
            deal.place(group, part);
        }
        deal.mend();
        deal.settle(order);
        let mut part_of = vec![0; deal.rows.iter().sum()];
        for (group, &part) in self.groups.iter().zip(&deal.part_of) {
            group.rows.iter().for_each(|&row| part_of[row] = part);
        }
        part_of
    }
}

fn group(labels: &Labels, rows: &[usize]) -> Group {
    let mut classes: Vec<usize> = rows.iter().map(|&row| labels.codes()[row]).collect();
    classes.sort_unstable();
    let classes = classes.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect();
    Group { rows: rows.to_vec(), classes }
}

/// Groups being dealt into parts.
struct Deal<'a> {
    groups: &'a Groups,
    shares: &'a [f64],
    part_of: Vec<usize>,
    /// Per part, rows of each class.
    counts: Vec<Vec<usize>>,
    /// Per part, its rows and its groups.
    rows: Vec<usize>,
    held: Vec<usize>,
    /// Per class, the number of parts that contain it.
    spread: Vec<usize>,
}

/// Moves of groups: group and new part.
type Change = Vec<(usize, usize)>;

/// Enough to converge in practice, and a bound in any case.
const MAX_SWEEPS: usize = 20;

/// Smaller gains are rounding.
const MIN_GAIN: f64 = 1e-9;

impl<'a> Deal<'a> {
    fn new(groups: &'a Groups, shares: &'a [f64]) -> Self {
        Deal {
            groups,
            shares,
            part_of: vec![0; groups.len()],
            counts: vec![vec![0; groups.totals.len()]; shares.len()],
            rows: vec![0; shares.len()],
            held: vec![0; shares.len()],
            spread: vec![0; groups.totals.len()],
        }
    }

    fn place(&mut self, group: usize, part: usize) {
        for &(class, n) in &self.groups.groups[group].classes {
            let count = &mut self.counts[part][class];
            self.spread[class] += usize::from(*count == 0);
            *count += n;
        }
        self.rows[part] += self.groups.size(group);
        self.held[part] += 1;
        self.part_of[group] = part;
    }

    fn lift(&mut self, group: usize) {
        let part = self.part_of[group];
        for &(class, n) in &self.groups.groups[group].classes {
            let count = &mut self.counts[part][class];
            *count -= n;
            self.spread[class] -= usize::from(*count == 0);
        }
        self.rows[part] -= self.groups.size(group);
        self.held[part] -= 1;
    }

    /// The part for the next group when `left` groups, itself included, are not yet placed; ties go to the part with
    /// the fewest rows, then to the first.
    fn best_part(&self, group: usize, left: usize) -> usize {
        let n_empty = self.held.iter().filter(|&&held| held == 0).count();
        let open = (0..self.shares.len()).filter(|&part| left > n_empty || self.held[part] == 0);
        let costs = open.map(|part| (self.growth(group, part), self.rows[part], part));
        costs.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map_or(0, |(_, _, part)| part)
    }

    /// Half the increase in squared deviations when the group goes to the part, less what is the same for all parts.
    fn growth(&self, group: usize, part: usize) -> f64 {
        let overlap = |n: usize, count: usize, total: usize| n as f64 * count as f64 / total as f64;
        let classes = self.groups.groups[group].classes.iter();
        let class = |&(class, n): &(usize, usize)| overlap(n, self.counts[part][class], self.groups.totals[class]);
        let size = self.groups.size(group);
        // Both classes and rows aim at the part's share.
        classes.map(class).sum::<f64>() + overlap(size, self.rows[part], self.groups.n_rows)
            - 2.0 * self.shares[part] * size as f64
    }

    /// Changes groups until each class in two or more groups is in two or more parts, or no change gets closer to that.
    fn mend(&mut self) {
        loop {
            let alone: BTreeSet<usize> = (0..self.groups.totals.len()).filter(|&class| self.is_alone(class)).collect();
            let holds = |group: &Group| group.classes.iter().any(|(class, _)| alone.contains(class));
            let holders: Vec<usize> = (0..self.groups.len()).filter(|&g| holds(&self.groups.groups[g])).collect();
            let fewer = |gain: &(i64, f64)| gain.0 < 0;
            let moved = self.best(self.moves(holders.clone()), fewer);
            let Some(change) = moved.or_else(|| self.best(self.swaps(holders), fewer)) else { return };
            self.make(&change);
        }
    }

    /// Moves groups one at a time while that lowers the deviations.
    fn settle(&mut self, order: &[usize]) {
        for _ in 0..MAX_SWEEPS {
            let mut settled = true;
            for &group in order {
                if let Some(change) = self.best(self.moves(vec![group]), |gain| gain.0 <= 0 && gain.1 < -MIN_GAIN) {
                    self.make(&change);
                    settled = false;
                }
            }
            if settled {
                return;
            }
        }
    }

    /// Whether a class is in one part although it could be in two.
    fn is_alone(&self, class: usize) -> bool {
        self.groups.per_class[class] >= 2 && self.spread[class] == 1
    }

    /// Every move of one of the groups that leaves no part empty.
    fn moves(&self, groups: Vec<usize>) -> impl Iterator<Item = Change> + use<> {
        let n_parts = self.shares.len();
        let movable: Vec<usize> = groups.into_iter().filter(|&group| self.held[self.part_of[group]] > 1).collect();
        movable.into_iter().flat_map(move |group| (0..n_parts).map(move |part| vec![(group, part)]))
    }

    /// Every exchange of one of the groups for one from another part.
    fn swaps(&self, groups: Vec<usize>) -> impl Iterator<Item = Change> + use<> {
        let part_of = self.part_of.clone();
        let n_groups = part_of.len();
        let pairs = groups.into_iter().flat_map(move |group| (0..n_groups).map(move |other| (group, other)));
        let swap = move |(a, b): (usize, usize)| vec![(a, part_of[b]), (b, part_of[a])];
        pairs.map(swap).filter(|change| change[0].1 != change[1].1)
    }

    /// Among changes with an allowed gain, the one that leaves the fewest classes alone; ties go to the smallest
    /// deviations.
    fn best(&mut self, changes: impl Iterator<Item = Change>, allowed: impl Fn(&(i64, f64)) -> bool) -> Option<Change> {
        let gains = changes.map(|change| (self.gain(&change), change)).filter(|(gain, _)| allowed(gain));
        gains.min_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(_, change)| change)
    }

    /// How many more classes are alone after a change, and by how much the deviations grow.
    fn gain(&mut self, change: &Change) -> (i64, f64) {
        let undo: Change = change.iter().map(|&(group, _)| (group, self.part_of[group])).collect();
        let groups = change.iter().map(|&(group, _)| &self.groups.groups[group]);
        let classes = groups.flat_map(|group| group.classes.iter().map(|&(class, _)| class)).collect();
        let parts = change.iter().chain(&undo).map(|&(_, part)| part).collect();
        let before = self.score(&classes, &parts);
        self.make(change);
        let after = self.score(&classes, &parts);
        self.make(&undo);
        (after.0 - before.0, after.1 - before.1)
    }

    fn make(&mut self, change: &Change) {
        change.iter().for_each(|&(group, _)| self.lift(group));
        change.iter().for_each(|&(group, part)| self.place(group, part));
    }

    /// The number of these classes that are alone, and the squared deviations of these classes and of the rows in some
    /// parts.
    fn score(&self, classes: &BTreeSet<usize>, parts: &BTreeSet<usize>) -> (i64, f64) {
        let n_alone = classes.iter().filter(|&&class| self.is_alone(class)).count();
        let deviation = |total: usize, count: &dyn Fn(usize) -> usize| {
            let off = |part: usize| count(part) as f64 - self.shares[part] * total as f64;
            parts.iter().map(|&part| off(part).powi(2)).sum::<f64>() / total as f64
        };
        let class = |&class: &usize| deviation(self.groups.totals[class], &|part| self.counts[part][class]);
        let rows = deviation(self.groups.n_rows, &|part| self.rows[part]);
        (n_alone as i64, classes.iter().map(class).sum::<f64>() + rows)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dist::Rng;

    fn labels(n_classes: usize, codes: Vec<usize>) -> Labels {
        Labels::from_parts((0..n_classes).map(|class| format!("c{class}")).collect(), codes).unwrap()
    }

    /// The parts of the groups, checked against those of their rows.
    fn deal(labels: &Labels, codes: &[usize], shares: &[f64], seed: u64) -> Vec<usize> {
        let groups = Groups::new(labels, codes).unwrap();
        let mut order: Vec<usize> = (0..groups.len()).collect();
        Rng::new(seed, 0).shuffle(&mut order);
        let parts = groups.deal(&order, shares);
        let part_of: Vec<usize> = groups.groups.iter().map(|group| parts[group.rows[0]]).collect();
        for (group, &part) in groups.groups.iter().zip(&part_of) {
            assert!(group.rows.iter().all(|&row| parts[row] == part && codes[row] == codes[group.rows[0]]));
        }
        part_of
    }

    /// The number of classes in two or more groups whose groups are all in one part; `None` if a part is empty.
    fn alone(holds: &[Vec<bool>], part_of: &[usize], n_parts: usize) -> Option<usize> {
        let parts = |groups: &mut dyn Iterator<Item = usize>| groups.map(|g| part_of[g]).collect::<BTreeSet<_>>();
        if parts(&mut (0..part_of.len())).len() < n_parts {
            return None;
        }
        let is_alone = |class: &usize| {
            let groups: Vec<usize> = (0..part_of.len()).filter(|&g| holds[g][*class]).collect();
            groups.len() >= 2 && parts(&mut groups.into_iter()).len() == 1
        };
        Some((0..holds[0].len()).filter(is_alone).count())
    }

    /// Class and group of each row, from rows per group and class.
    fn rows(cells: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
        let of = |(group, counts): (usize, &Vec<usize>)| {
            let pairs = counts.iter().enumerate().flat_map(|(class, &n)| vec![(class, group); n]);
            pairs.collect::<Vec<_>>()
        };
        cells.iter().enumerate().flat_map(of).unzip()
    }

    /// Fewer than `most` rows of each of 3 classes, but not none at all.
    fn some_rows(most: usize) -> impl Strategy<Value = Vec<usize>> {
        (prop::collection::vec(0..most, 3), 0..3usize).prop_map(|(mut counts, class)| {
            counts[class] = counts[class].max(1);
            counts
        })
    }

    /// Squared distances of classes and rows from their shares, each divided by its size.
    fn deviation(cells: &[Vec<usize>], part_of: &[usize], shares: &[f64]) -> f64 {
        let mut sum = 0.0;
        let sizes = cells.iter().map(|counts| counts.iter().sum::<usize>()).collect::<Vec<_>>();
        let columns = (0..cells[0].len()).map(|class| cells.iter().map(|counts| counts[class]).collect());
        for column in columns.chain([sizes]).filter(|column: &Vec<usize>| column.iter().any(|&n| n > 0)) {
            let total: usize = column.iter().sum();
            for (part, share) in shares.iter().enumerate() {
                let own: usize = (0..column.len()).filter(|&g| part_of[g] == part).map(|g| column[g]).sum();
                sum += (own as f64 - share * total as f64).powi(2) / total as f64;
            }
        }
        sum
    }

    /// The fewest classes alone over all ways to deal the groups.
    fn fewest_alone(holds: &[Vec<bool>], n_parts: usize) -> Option<usize> {
        let n_ways = n_parts.pow(holds.len() as u32);
        let way = |way: usize| (0..holds.len()).map(|g| way / n_parts.pow(g as u32) % n_parts).collect::<Vec<_>>();
        (0..n_ways).filter_map(|w| alone(holds, &way(w), n_parts)).min()
    }

    #[test]
    fn codes_of_another_length_refused() {
        let message = Groups::new(&labels(2, vec![0, 1]), &[7]).err().map(|error| error.to_string());
        assert_eq!(message.unwrap(), "parameter groups: 1 groups for 2 rows; give one group per row");
    }

    #[test]
    fn codes_may_be_any_numbers() {
        let groups = Groups::new(&labels(2, vec![0, 1, 1, 0]), &[usize::MAX, 3, usize::MAX, 3]).unwrap();
        let rows: Vec<&[usize]> = groups.groups.iter().map(|group| &group.rows[..]).collect();
        assert_eq!(rows, [[1, 3], [0, 2]]);
        assert_eq!(groups.per_class(), [2, 2]);
    }

    #[test]
    fn a_class_alone_is_mended_whatever_it_costs() {
        // Dealt one by one the largest is in one part, and the others, with both rows of the small class, in the other.
        let cells = [vec![20, 0], vec![10, 1], vec![9, 1]];
        let (classes, codes) = rows(&cells);
        let groups = Groups::new(&labels(2, classes), &codes).unwrap();
        let parts = groups.deal(&[0, 1, 2], &[0.5; 2]);
        assert_ne!(parts[20], parts[31], "{parts:?}");
        // Each of the first two is in a part of its own; then the third has no place that serves both classes.
        let cells = [vec![3, 0], vec![0, 3], vec![1, 1]];
        let (classes, codes) = rows(&cells);
        let parts = Groups::new(&labels(2, classes), &codes).unwrap().deal(&[0, 1, 2], &[0.5; 2]);
        assert_eq!(parts, [parts[0], parts[0], parts[0], parts[0], parts[0], parts[0], parts[6], parts[6]]);
        assert_ne!(parts[0], parts[6]);
    }

    proptest! {
        #[test]
        fn as_few_classes_are_alone_as_any_deal_leaves(
            cells in prop::collection::vec(some_rows(4), 1..5), n_parts in 2usize..4, seed: u64,
        ) {
            // At least as many groups as parts.
            let cells = [cells, vec![vec![1, 0, 0], vec![0, 1, 2]]].concat();
            let (classes, codes) = rows(&cells);
            let holds: Vec<Vec<bool>> = cells.iter().map(|counts| counts.iter().map(|&n| n > 0).collect()).collect();
            let part_of = deal(&labels(3, classes), &codes, &vec![1.0 / n_parts as f64; n_parts], seed);
            prop_assert_eq!(alone(&holds, &part_of, n_parts), fewest_alone(&holds, n_parts), "{:?}", part_of);
        }

        #[test]
        fn a_group_goes_where_deviations_grow_least(
            cells in prop::collection::vec(some_rows(5), 4..9), places in prop::collection::vec(0usize..3, 9),
        ) {
            let (classes, codes) = rows(&cells);
            let groups = Groups::new(&labels(3, classes), &codes).unwrap();
            let shares = [0.5, 0.3, 0.2];
            let mut deal = Deal::new(&groups, &shares);
            (1..cells.len()).for_each(|group| deal.place(group, places[group]));
            let after = |part: usize| [vec![part], places[1..cells.len()].to_vec()].concat();
            let grown: Vec<f64> = (0..3).map(|part| deviation(&cells, &after(part), &shares)).collect();
            for part in 1..3 {
                let found = 2.0 * (deal.growth(0, part) - deal.growth(0, 0));
                prop_assert!((found - (grown[part] - grown[0])).abs() < 1e-9, "{found} {grown:?}");
            }
            let best = deal.best_part(0, 9);
            prop_assert!(grown.iter().all(|&other| grown[best] <= other + 1e-9), "{best}: {grown:?}");
        }

        #[test]
        fn no_single_group_is_better_elsewhere(
            cells in prop::collection::vec(some_rows(5), 3..12),
            shares in prop::sample::select(vec![vec![0.5; 2], vec![0.95, 0.05], vec![1.0 / 3.0; 3], vec![0.04, 0.03, 0.93]]),
            seed: u64,
        ) {
            let (classes, codes) = rows(&cells);
            let holds: Vec<Vec<bool>> = cells.iter().map(|counts| counts.iter().map(|&n| n > 0).collect()).collect();
            let part_of = deal(&labels(3, classes), &codes, &shares, seed);
            let (n_alone, least) = (alone(&holds, &part_of, shares.len()).unwrap(), deviation(&cells, &part_of, &shares));
            for (group, part) in (0..cells.len()).flat_map(|group| (0..shares.len()).map(move |part| (group, part))) {
                let mut moved = part_of.clone();
                moved[group] = part;
                if alone(&holds, &moved, shares.len()).is_some_and(|moved| moved <= n_alone) {
                    let found = deviation(&cells, &moved, &shares);
                    prop_assert!(found > least - 1e-8, "group {group} to {part}: {found} {least}");
                }
            }
        }

        #[test]
        fn like_groups_come_within_half_a_group_of_the_share(
            sizes in prop::collection::vec(1usize..6, 4..30), share in 0.1f64..0.9, seed: u64,
        ) {
            let cells: Vec<Vec<usize>> = sizes.iter().map(|&size| vec![size, 2 * size]).collect();
            let (classes, codes) = rows(&cells);
            let part_of = deal(&labels(2, classes), &codes, &[share, 1.0 - share], seed);
            let first: usize = (0..sizes.len()).filter(|&g| part_of[g] == 0).map(|g| sizes[g]).sum();
            let off = first as f64 - share * sizes.iter().sum::<usize>() as f64;
            let largest = *sizes.iter().max().unwrap() as f64;
            let held = part_of.iter().filter(|&&part| part == 0).count();
            // Leaving no part empty takes precedence over the share.
            let forced = held == 1 || held + 1 == sizes.len();
            prop_assert!(off.abs() <= largest * if forced { 1.0 } else { 0.5 } + 1e-9, "{off} {largest}");
        }
    }
}

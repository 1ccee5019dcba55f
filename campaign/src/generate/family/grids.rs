//! Grids whose size depends on a count: another count is another launch, with other CTAs.

use super::Family;
use crate::dice::Dice;
use crate::generate::template::Template;

/// Families whose kernels get such a grid.
const OF: [Family; 8] = [
    Family::Buffer,
    Family::Cells,
    Family::Counts,
    Family::Ring,
    Family::Skip,
    Family::Nested,
    Family::Sequential,
    Family::Persistent,
];

pub(super) fn grids(dice: &mut Dice) -> Template {
    let mut t = dice.pick(&OF).sites(dice);
    let names: Vec<String> = t.counts.iter().filter(|c| !c.any).map(|c| c.name.clone()).collect();
    let Some(line) = t.header.iter_mut().find(|line| line.starts_with("grid ")) else { return t };
    let digits = line["grid ".len()..].chars().take_while(char::is_ascii_digit).count();
    let (size, rest) = line["grid ".len()..].split_at(digits);
    let (count, other) = (dice.pick(&names), dice.range(1, 12));
    let form = match dice.range(1, 6) {
        1 => format!("{count} > {} ? {other} : {size}", dice.pick(&[3, 8, 20, 45, 150])),
        2 => format!("{count} < {} ? {other} : {size}", dice.pick(&[2, 5, 12, 30])),
        3 => format!("{count} % {} == 1 ? {other} : {size}", dice.range(2, 5)),
        4 => format!("max(1, min({size}, {count}))"),
        5 => format!("max({size}, min({}, {count}))", size.parse::<i64>().unwrap_or(1) + other),
        _ => format!("min({count} + 1, 16)"),
    };
    *line = format!("grid {form}{rest}");
    t
}

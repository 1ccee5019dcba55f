//! Conditions that a guard tests.

use crate::dice::Dice;

use super::lines::Lines;

/// Constants of comparisons: small numbers, and some that no small run reaches.
const CONSTANTS: [i64; 13] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17];

/// A condition over the names that a line can read. Most hold nearly always.
pub(super) fn condition(lines: &Lines, at: usize, dice: &mut Dice) -> String {
    let atoms = atoms(lines, at);
    let a = dice.pick(&atoms);
    let c = *dice.pick(&CONSTANTS);
    match dice.range(0, 6) {
        0 => format!("{a} != {c}"),
        1 => format!("{a} % {} != {}", dice.pick(&[2, 3, 4, 5, 7]), dice.range(0, 2)),
        2 => format!("{a} < {}", c + 5),
        3 => format!("{a} >= {}", dice.range(0, 2)),
        4 => match dice.pick(&atoms) {
            b if b == a => format!("{a} != {c}"),
            b => format!("{a} != {b}"),
        },
        5 => format!("{a} / {} != {c}", dice.range(2, 4)),
        _ => format!("({a} != {c} or {} != {})", dice.pick(&atoms), dice.range(0, 7)),
    }
}

/// A condition that holds at one value of a parameter or of a number of the header, and perhaps in one CTA only.
pub(super) fn equation(lines: &Lines, dice: &mut Dice) -> Option<String> {
    let names = [lines.parameters(), lines.numbers()].concat();
    if names.is_empty() {
        return None;
    }
    let of_one_value = format!("{} == {}", dice.pick(&names), dice.pick(&CONSTANTS));
    Some(if dice.chance(25) { format!("{of_one_value} and cta.id == {}", dice.range(0, 3)) } else { of_one_value })
}

/// Names for a condition. Loop variables are more probable, because most faults of pipelines depend on them.
fn atoms(lines: &Lines, at: usize) -> Vec<String> {
    let [loops, variables] = lines.in_scope(at);
    let mut atoms = lines.parameters();
    (0..3).for_each(|_| atoms.extend(loops.iter().cloned()));
    atoms.extend(variables);
    atoms.extend(["cta.id".to_string(), "cta.id".to_string()]);
    atoms
}

//! Immediate dominators, by Cooper, Harvey and Kennedy's iteration.

use super::BlockId;

/// The position of each node in reverse postorder from a root (`usize::MAX` where it is not reached), and its immediate
/// dominator.
pub(super) fn dominators(next: &[Vec<BlockId>], root: BlockId) -> (Vec<usize>, Vec<Option<BlockId>>) {
    let n = next.len();
    let mut post = Vec::new();
    let mut seen = vec![false; n];
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((b, i)) = stack.pop() {
        match next[b].get(i) {
            Some(&to) => {
                stack.push((b, i + 1));
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, 0));
                }
            }
            None => post.push(b),
        }
    }
    let mut order = vec![usize::MAX; n];
    post.iter().rev().enumerate().for_each(|(i, b)| order[*b] = i);
    let mut back = vec![Vec::new(); n];
    for b in post.iter() {
        next[*b].iter().for_each(|to| back[*to].push(*b));
    }
    let mut of = vec![None; n];
    of[root] = Some(root);
    let mut changed = true;
    while changed {
        changed = false;
        for &b in post.iter().rev().filter(|b| **b != root) {
            let mut new: Option<BlockId> = None;
            for &p in back[b].iter().filter(|p| of[**p].is_some()) {
                new = Some(new.map_or(p, |x| meet(&of, &order, x, p)));
            }
            changed |= new != of[b];
            of[b] = new;
        }
    }
    of[root] = None;
    (order, of)
}

fn meet(of: &[Option<BlockId>], order: &[usize], mut a: BlockId, mut b: BlockId) -> BlockId {
    while a != b {
        let step = if order[a] > order[b] { &mut a } else { &mut b };
        match of[*step] {
            Some(up) if up != *step => *step = up,
            _ => return if order[a] < order[b] { a } else { b },
        }
    }
    a
}

//! The layout of the screen, for drawing and for the mouse.

use ratatui::layout::Rect;

/// Smallest terminal; a smaller one shows a request to enlarge it.
pub(crate) const LEAST: (u16, u16) = (40, 10);

/// The parts of the screen, top to bottom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) title: Rect,
    pub(crate) overview: Rect,
    pub(crate) axis: Rect,
    /// Names of the rows.
    pub(crate) names: Rect,
    /// The rows themselves.
    pub(crate) rows: Rect,
    pub(crate) detail: Rect,
    pub(crate) status: Rect,
    /// Whether the pane of stalls fits beside that of the operation.
    pub(crate) wide: bool,
}

/// The layout of a terminal of this size; `None` if it is too small.
pub(crate) fn layout((width, height): (u16, u16)) -> Option<Layout> {
    if width < LEAST.0 || height < LEAST.1 {
        return None;
    }
    let name = (width / 4).clamp(12, 26);
    let detail = match height {
        0..16 => 2,
        16..24 => 5,
        24..32 => 6,
        _ => 9,
    };
    let line = |y, height| Rect { x: 0, y, width, height };
    let cells = |y, height| Rect { x: name, y, width: width - name, height };
    let rows = height - 3 - detail - 1;
    Some(Layout {
        title: line(0, 1),
        overview: cells(1, 1),
        axis: cells(2, 1),
        names: Rect { x: 0, y: 3, width: name, height: rows },
        rows: cells(3, rows),
        detail: line(3 + rows, detail),
        status: line(height - 1, 1),
        wide: width >= 110,
    })
}

/// The tick at the left edge of cell `i` of `cells` over `from..to`.
pub(crate) fn edge(from: u64, to: u64, cells: u16, i: u16) -> u64 {
    from + (u128::from(to - from) * u128::from(i) / u128::from(cells.max(1))) as u64
}

/// The cell of a tick; `None` outside of the window.
pub(crate) fn cell(from: u64, to: u64, cells: u16, tick: u64) -> Option<u16> {
    if tick < from || tick >= to || cells == 0 {
        return None;
    }
    // The last cell whose edge, rounded down, is not after the tick. Where ticks are fewer than cells, several cells
    // have one edge.
    Some(((u128::from(tick - from + 1) * u128::from(cells) - 1) / u128::from(to - from)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_parts_tile_the_screen(w in LEAST.0..300, h in LEAST.1..120) {
            let l = layout((w, h)).expect("large enough");
            let lines = 1 + l.overview.height + l.axis.height + l.rows.height + l.detail.height + l.status.height;
            prop_assert_eq!(lines, h);
            prop_assert_eq!(l.names.width + l.rows.width, w);
            prop_assert!(l.rows.height > 0);
        }

        #[test]
        fn a_tick_is_in_its_cell(from in 0..1_000_000u64, long in 1..1_000_000u64, cells in 1..300u16, at in 0..1_000_000u64) {
            let (to, tick) = (from + long, from + at % long);
            let i = cell(from, to, cells, tick).expect("inside");
            prop_assert!(edge(from, to, cells, i) <= tick && tick < edge(from, to, cells, i + 1));
        }
    }
}

//! Draws finished timelines: gantt charts and trace files.

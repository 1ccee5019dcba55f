//! The terminal of the viewer: the full screen, restored in every case, and the event loop.

use std::io::{self, Stdout, Write, stdout};
use std::sync::Once;
use std::time::{Duration, Instant};

use crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyEventKind, KeyModifiers, MouseButton,
    MouseEventKind,
};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::{Backend, CrosstermBackend};
use warpline_viz::tui::keys::{Code, Key};
use warpline_viz::tui::{Msg, Runs, State, render, update};

/// A terminal in full screen. It is restored when the value is dropped, and before a panic is reported.
#[derive(Debug)]
pub struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    /// Opens the full screen.
    ///
    /// # Errors
    /// No terminal, or one that does not support the full screen. The terminal is then restored.
    pub fn open(mouse: bool) -> io::Result<Screen> {
        hook();
        let opened = (|| {
            enable_raw_mode()?;
            execute!(stdout(), EnterAlternateScreen, cursor::Hide)?;
            if mouse {
                execute!(stdout(), EnableMouseCapture)?;
            }
            Terminal::new(CrosstermBackend::new(stdout()))
        })();
        if opened.is_err() {
            restore();
        }
        opened.map(Screen)
    }

    /// Runs the viewer until the user quits.
    ///
    /// # Errors
    /// A terminal that cannot be read or written.
    pub fn run(&mut self, state: &mut State, runs: &Runs) -> io::Result<()> {
        drive(&mut self.0, state, runs, &mut wait)
    }
}

/// Columns and rows of the terminal; `None` where there is none.
pub fn size() -> Option<(u16, u16)> {
    crossterm::terminal::size().ok()
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal. Errors are ignored: there is no other place to show them.
fn restore() {
    let _ = execute!(stdout(), DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
    let _ = stdout().flush();
}

/// Makes panics restore the terminal before they are reported. Installed once.
fn hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            report(info);
        }));
    });
}

/// The time of a frame while the viewer plays, and the longest wait for a key otherwise.
const FRAME: Duration = Duration::from_millis(33);
const IDLE: Duration = Duration::from_secs(3600);

/// The event loop: draw, wait, handle all pending events, draw. Repeated keys cost one frame together.
///
/// # Errors
/// A terminal that cannot be read or written.
fn drive<B: Backend>(
    terminal: &mut Terminal<B>,
    state: &mut State,
    runs: &Runs,
    wait: &mut dyn FnMut(Duration) -> io::Result<Option<Event>>,
) -> io::Result<()>
where
    B::Error: Send + Sync + 'static,
{
    let mut last = Instant::now();
    while !state.quits() {
        let size = terminal.size().map_err(io::Error::other)?;
        update(state, runs, Msg::Resize(size.width, size.height));
        terminal.draw(|frame| render(state, runs, frame.buffer_mut())).map_err(io::Error::other)?;
        let plays = state.plays();
        let mut next = wait(if plays { FRAME } else { IDLE })?;
        while let Some(event) = next {
            if let Some(msg) = message(&event) {
                update(state, runs, msg);
            }
            next = if state.quits() { None } else { wait(Duration::ZERO)? };
        }
        let passed = last.elapsed();
        last = Instant::now();
        if plays {
            update(state, runs, Msg::Tick(passed.as_millis().min(1000) as u32));
        }
    }
    Ok(())
}

fn wait(longest: Duration) -> io::Result<Option<Event>> {
    if event::poll(longest)? { event::read().map(Some) } else { Ok(None) }
}

/// The message of a terminal event to the viewer.
fn message(event: &Event) -> Option<Msg> {
    match event {
        Event::Resize(width, height) => Some(Msg::Resize(*width, *height)),
        Event::Key(k) if k.kind != KeyEventKind::Release => {
            let has = |m| k.modifiers.contains(m);
            let code = match k.code {
                KeyCode::Char(c) => Code::Char(c),
                KeyCode::Left => Code::Left,
                KeyCode::Right => Code::Right,
                KeyCode::Up => Code::Up,
                KeyCode::Down => Code::Down,
                KeyCode::Home => Code::Home,
                KeyCode::End => Code::End,
                KeyCode::PageUp => Code::PageUp,
                KeyCode::PageDown => Code::PageDown,
                KeyCode::Tab => Code::Tab,
                KeyCode::Enter => Code::Enter,
                KeyCode::Esc => Code::Esc,
                KeyCode::Backspace => Code::Backspace,
                KeyCode::Delete => Code::Delete,
                _ => return None,
            };
            // A terminal sends the shifted character, so the modifier adds nothing.
            let shift = has(KeyModifiers::SHIFT) && !matches!(code, Code::Char(_));
            Some(Msg::Key(Key { code, ctrl: has(KeyModifiers::CONTROL), alt: has(KeyModifiers::ALT), shift }))
        }
        Event::Mouse(m) => match m.kind {
            MouseEventKind::Down(MouseButton::Left) => Some(Msg::Click(m.column, m.row)),
            MouseEventKind::ScrollUp => Some(Msg::Wheel(m.column, true)),
            MouseEventKind::ScrollDown => Some(Msg::Wheel(m.column, false)),
            _ => None,
        },
        _ => None,
    }
}

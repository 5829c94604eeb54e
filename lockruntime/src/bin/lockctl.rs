//! `lockctl`: who holds which lock, who waits for it, and why. See `lockctl --help`.

use std::io::IsTerminal;
use std::process::ExitCode;

use lockruntime::cli;

fn main() -> ExitCode {
    let (mut out, mut complaints) = (std::io::stdout(), std::io::stderr());
    // https://no-color.org
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let terminal = out.is_terminal();
    let mut screen = cli::Screen::new(&mut out, &mut complaints);
    screen.redraws = terminal;
    screen.colored = terminal && !plain;
    ExitCode::from(cli::run(std::env::args_os(), screen))
}

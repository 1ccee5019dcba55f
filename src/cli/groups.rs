//! The list of commands in `--help`, in groups.

use clap::CommandFactory;

use super::Cli;

/// Groups of commands, the most common first.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Start here", &["run", "verify", "gantt"]),
    ("Understand a kernel", &["explain", "barriers", "view", "report", "trace"]),
    ("Compare and search", &["compare", "sweep", "merge", "whatif", "plan", "check"]),
    ("Write kernels", &["new", "fmt", "lsp", "expand", "list", "models"]),
    ("Other tools and devices", &["import", "emit", "export", "recheck", "calibrate", "validate"]),
    ("Shell", &["completions", "man", "help"]),
];

/// The command line with its commands in groups.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    let width = command.get_subcommands().map(|c| c.get_name().len()).max().unwrap_or(0);
    let mut list = String::new();
    for (group, names) in GROUPS {
        list += &format!("{group}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            list += &format!("  {name:width$}  {}\n", about.map_or(String::new(), ToString::to_string));
        }
        list.push('\n');
    }
    Cli::command().help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = Cli::command();
        command.build();
        let mut names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|g| g.1.iter().copied()).collect();
        names.sort_unstable();
        listed.sort_unstable();
        assert_eq!(names, listed);
    }
}

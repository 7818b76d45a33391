//! External programs that are running, so that they end when we are made to.
//!
//! Each runs in a process group of its own, together with what it starts itself (a compiler driver starts a compiler). A key
//! press in the terminal does not reach such a group; [`end_all`] does. A process that is killed ends nobody, so each group is led by a
//! shell that reads from it: at the end of that it ends the group.
//!
//! ```text
//! tabla-gen ──starts──▶ group: shell, g++ ──▶ cc1plus
//!     └──── pipe ─────────────────┘ read; kill the group
//! ```

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, PoisonError};

/// Group leaders that have not been waited for; `None` once all are ended.
static RUNNING: Mutex<Option<Vec<u32>>> = Mutex::new(Some(Vec::new()));

/// A program that runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Ends the group when this process is gone.
    guard: Option<Child>,
}

/// Start a program in a group of its own.
///
/// # Errors
/// It cannot be started, or this process is about to end.
pub fn start(command: &mut Command) -> io::Result<Running> {
    // The lock is held while the program starts, so that none is missed.
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(running) = running.as_mut() else { return Err(io::ErrorKind::Interrupted.into()) };
    let guard = guard();
    let group = guard.as_ref().map_or(0, Child::id);
    match command.process_group(group as i32).spawn() {
        Ok(child) => {
            running.push(if group == 0 { child.id() } else { group });
            Ok(Running { child, guard })
        }
        Err(error) => {
            dismiss(guard);
            Err(error)
        }
    }
}

/// The leader of a new group: a shell that waits for the end of this process, and then ends its group. Without a shell nobody does.
fn guard() -> Option<Child> {
    let mut shell = Command::new("sh");
    shell.args(["-c", "read -r _; kill -s KILL 0"]).current_dir("/").process_group(0);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

/// End a guard whose group is over.
fn dismiss(guard: Option<Child>) {
    if let Some(mut guard) = guard {
        // It reads, and does nothing else.
        let _ = guard.kill().and_then(|()| guard.wait());
    }
}

impl Running {
    /// Of its group.
    fn id(&self) -> u32 {
        self.guard.as_ref().unwrap_or(&self.child).id()
    }

    /// Wait for it to exit and collect its output.
    ///
    /// # Errors
    /// Waiting fails.
    pub fn output(self) -> io::Result<Output> {
        let id = self.id();
        let output = self.child.wait_with_output();
        dismiss(self.guard);
        match RUNNING.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(running) => running.retain(|&other| other != id),
            // Somebody is ending this process; its failure is no news.
            None => loop {
                std::thread::park();
            },
        }
        output
    }
}

/// Run a program to its end, with nothing to read and what it says kept.
///
/// # Errors
/// It cannot be started or waited for, or this process is about to end.
pub fn output(command: &mut Command) -> io::Result<Output> {
    start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))?.output()
}

/// Run a program with nothing to read, and hear what it says on both streams line by line, each with its end. Where `goes_on` says no, it and all that it has
/// started is ended. How it ended by itself, if it did.
///
/// # Errors
/// It cannot be started, heard or waited for, or this process is about to end.
pub fn follow(command: &mut Command, goes_on: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<Option<ExitStatus>> {
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let running = start(command);
    // Nobody else writes: what is read ends with the program.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let running = running?;
    let mut lines = BufReader::new(reader);
    let mut line = Vec::new();
    let mut is_ended = false;
    while !is_ended && lines.read_until(b'\n', &mut line)? > 0 {
        is_ended = !goes_on(&line);
        line.clear();
    }
    if is_ended && let Some(group) = Pid::from_raw(running.id() as i32) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = running.output()?.status;
    Ok((!is_ended).then_some(status))
}

/// End all programs that run; none can be started after this.
pub fn end_all() {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).take();
    for pid in running.into_iter().flatten().filter_map(|id| Pid::from_raw(id as i32)) {
        // One that has just ended is no matter.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

//! The attempts, each by the shortest way that the system offers. They print what they read.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::os::unix::process::CommandExt as _;

/// The most that is read of a file.
const SOME: u64 = 4096;

pub fn run(name: &str, args: &[&str]) -> io::Result<()> {
    let at = |at: usize| args.get(at).copied().unwrap_or_default();
    let first = at(0);
    match name {
        "write" => fs::write(first, "x"),
        "read" => shown(first),
        "rename" => fs::rename(first, at(1)),
        "link" => fs::hard_link(first, at(1)).and_then(|()| fs::write(at(1), "linked")),
        "truncate" => path_call(libc::SYS_truncate, first, 0),
        "chmod" => fs::set_permissions(first, fs::Permissions::from_mode(0o777)),
        "utimes" => utimes(first),
        "through-link" => through_link(first, at(1)),
        "memory" => memory(first),
        "tcp" => TcpStream::connect(first)?.write_all(b"x"),
        "udp" => UdpSocket::bind("127.0.0.1:0")?.send_to(b"x", first).map(drop),
        "unix" => UnixStream::connect(first)?.write_all(b"x"),
        "unix-datagram" => UnixDatagram::unbound()?.send_to(b"x", first).map(drop),
        "pair-datagram" => UnixDatagram::pair()?.0.send_to(b"x", first).map(drop),
        "abstract" => UnixStream::connect_addr(&SocketAddr::from_abstract_name(first)?)?.write_all(b"x"),
        "signal" => call(libc::SYS_kill, &[number(first), i64::from(libc::SIGTERM)]),
        // PTRACE_SEIZE
        "ptrace" => {
            call(libc::SYS_ptrace, &[0x4206, number(first), 0, 0])?;
            print!("seized");
            Ok(())
        }
        "process-vm" => process_vm(first),
        "io-uring" => {
            let params = [0_u8; 256];
            call(libc::SYS_io_uring_setup, &[8, params.as_ptr() as i64])?;
            print!("made");
            Ok(())
        }
        "user-namespace" => {
            call(libc::SYS_unshare, &[i64::from(libc::CLONE_NEWUSER)])?;
            print!("made");
            Ok(())
        }
        "keyring" => {
            // KEYCTL_JOIN_SESSION_KEYRING
            call(libc::SYS_keyctl, &[1, 0])?;
            print!("joined");
            Ok(())
        }
        "terminal" => terminal(),
        "escape" => escape(first),
        _ => Err(io::Error::other("no such attempt")),
    }
}

/// Reads the beginning of a file, and prints it.
fn shown(path: &str) -> io::Result<()> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(SOME).read_to_end(&mut bytes)?;
    io::stdout().write_all(&bytes)
}

/// Sets both times to the second after the epoch, by the path alone.
fn utimes(path: &str) -> io::Result<()> {
    let path = std::ffi::CString::new(path)?;
    let times = [[1_i64, 0]; 2];
    call(libc::SYS_utimensat, &[i64::from(libc::AT_FDCWD), path.as_ptr() as i64, times.as_ptr() as i64, 0])
}

/// Exchanges a link for a file again and again, and writes to whatever it is.
fn through_link(name: &str, outside: &str) -> io::Result<()> {
    for _ in 0..500 {
        let _ = fs::remove_file(name);
        std::os::unix::fs::symlink(outside, name)?;
        let _ = fs::write(name, "raced");
    }
    Ok(())
}

/// Reads the first readable page of a process.
fn memory(pid: &str) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let start = maps.lines().find(|line| line.contains(" r")).and_then(|line| line.split('-').next());
    let start = start.and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or_default();
    let mut page = [0; 64];
    fs::File::open(format!("/proc/{pid}/mem"))?.read_exact_at(&mut page, start)?;
    print!("read");
    Ok(())
}

fn process_vm(pid: &str) -> io::Result<()> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let start = maps.lines().find(|line| line.contains(" r")).and_then(|line| line.split('-').next());
    let start = start.and_then(|text| usize::from_str_radix(text, 16).ok()).unwrap_or_default();
    let page = [0_u8; 64];
    let local = [page.as_ptr() as usize, page.len()];
    let remote = [start, page.len()];
    let (local, remote) = (local.as_ptr() as i64, remote.as_ptr() as i64);
    call(libc::SYS_process_vm_readv, &[number(pid), local, 1, remote, 1, 0])?;
    print!("read");
    Ok(())
}

/// Types into a terminal of its own, made the controlling one.
#[expect(unsafe_code, reason = "a probe makes the system calls that a command could make")]
fn terminal() -> io::Result<()> {
    let flags = libc::O_RDWR;
    // SAFETY: plain calls on descriptors that this process owns.
    unsafe {
        let main = libc::open(c"/dev/ptmx".as_ptr(), flags);
        if main < 0 || libc::grantpt(main) < 0 || libc::unlockpt(main) < 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::fork() > 0 {
            let mut status = 0;
            libc::wait(&raw mut status);
            return if status == 0 { Ok(()) } else { Err(io::Error::other("refused")) };
        }
        libc::setsid();
        let name = libc::ptsname(main);
        let side = libc::open(name, flags);
        libc::ioctl(side, libc::TIOCSCTTY, 0);
        let byte = b'x';
        let typed = libc::ioctl(side, libc::TIOCSTI, &raw const byte);
        if typed == 0 {
            print!("typed");
            let _ = io::stdout().flush();
        }
        libc::_exit(i32::from(typed != 0));
    }
}

/// Leaves a process behind that has left the session; the argument is how long it sleeps.
/// Returns when the process runs its program, so that it can be found.
#[expect(unsafe_code, reason = "a new session is made between fork and exec")]
fn escape(seconds: &str) -> io::Result<()> {
    let mut sleep = std::process::Command::new("sleep");
    sleep.arg(seconds);
    // SAFETY: setsid is async-signal-safe.
    unsafe {
        sleep.pre_exec(|| if libc::setsid() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) });
    }
    sleep.spawn().map(drop)
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_default()
}

fn path_call(number: i64, path: &str, value: i64) -> io::Result<()> {
    let path = std::ffi::CString::new(path)?;
    call(number, &[path.as_ptr() as i64, value])
}

#[expect(unsafe_code, reason = "a probe makes the system calls that a command could make")]
fn call(number: i64, args: &[i64]) -> io::Result<()> {
    let at = |at: usize| args.get(at).copied().unwrap_or_default();
    // SAFETY: pointers among the arguments point to buffers that outlive the call, and have the size passed with them.
    let result = unsafe { libc::syscall(number, at(0), at(1), at(2), at(3), at(4), at(5)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

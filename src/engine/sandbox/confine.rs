//! Confines the current process, for good: no new privileges, no capabilities, limits, Landlock, and a filter of system
//! calls. What it runs afterwards inherits all of it.
//!
//! Two steps, so that between fork and exec nothing is left but system calls: [`PreparedConfinement::prepare`] opens
//! the paths and compiles the filter, [`PreparedConfinement::enter`] applies them. Landlock only grants: what is hidden
//! inside a readable folder is left out by granting its neighbours one by one, and nothing can be taken out of a writable
//! folder. Linux only.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

use super::Confinement;
use super::policy::SandboxPolicy;

/// The rights that are handled: those of Linux 6.12. A kernel without them gives no sandbox.
const RIGHTS: ABI = ABI::V6;

/// Devices that every command may use.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The namespaces of a command, which decide how much is left to Landlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namespaces {
    /// Those of the host: nothing else confines files, network and processes.
    Host,
    /// Its own: files that are not mounted do not exist, and the network is another one.
    Own,
}

/// A confinement that is ready to be entered.
pub struct PreparedConfinement {
    ruleset: RulesetCreated,
    filters: [BpfProgram; 2],
    policy: SandboxPolicy,
}

impl PreparedConfinement {
    /// Opens what the policy names, and compiles its filter. Errs if the kernel cannot confine as stated.
    pub fn prepare(policy: SandboxPolicy, namespaces: Namespaces) -> io::Result<Self> {
        let filters = filters(&policy, namespaces)?;
        let ruleset = ruleset(&policy, namespaces).map_err(|error| match error {
            RulesetError::HandleAccesses(_) | RulesetError::Scope(_) => io::Error::other(
                "this kernel lacks Landlock as of Linux 6.12; update it, or switch it on (lsm=landlock,…)",
            ),
            other => io::Error::other(other),
        })?;
        Ok(Self { ruleset, filters, policy })
    }

    /// Confines this process. Only system calls; errs before anything that is not confined can run.
    pub fn enter(&self) -> io::Result<()> {
        limit(&self.policy)?;
        rustix::thread::set_no_new_privs(true)?;
        drop_capabilities()?;
        let status = self.ruleset.try_clone()?.restrict_self().map_err(io::Error::other)?;
        if status.ruleset != RulesetStatus::FullyEnforced {
            return Err(io::Error::other("Landlock was not enforced"));
        }
        self.filters.iter().try_for_each(|filter| seccompiler::apply_filter(filter)).map_err(io::Error::other)
    }
}

fn ruleset(policy: &SandboxPolicy, namespaces: Namespaces) -> Result<RulesetCreated, RulesetError> {
    let read = AccessFs::from_read(RIGHTS);
    let all = AccessFs::from_all(RIGHTS);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)?
        .scope(Scope::from_all(RIGHTS))?;
    let mut grants: Vec<Grant> = Vec::new();
    match namespaces {
        // Mounted paths may be read.
        Namespaces::Own => {
            grants.push(Grant { path: "/".into(), rights: read, is_folder: true });
            grants.push(Grant { path: "/dev".into(), rights: all, is_folder: true });
        }
        Namespaces::Host => {
            if !policy.has_network() {
                ruleset = ruleset.handle_access(AccessNet::from_all(RIGHTS))?;
            }
            grants.push(Grant { path: "/proc".into(), rights: read, is_folder: true });
            let device = |path: &&str| Grant {
                path: path.into(),
                rights: read | AccessFs::WriteFile,
                is_folder: false,
            };
            grants.extend(DEVICES.iter().map(device));
            policy.reads.iter().for_each(|path| grant_visible(path, read, &policy.hidden, &mut grants));
        }
    }
    let write = all & !AccessFs::IoctlDev & !AccessFs::MakeChar & !AccessFs::MakeBlock;
    policy.writes.iter().for_each(|path| grant_visible(path, write, &policy.hidden, &mut grants));
    let mut created = ruleset.create()?;
    for Grant { path, rights, is_folder } in grants {
        // A path that vanished meanwhile needs no grant.
        let Ok(file) = PathFd::new(&path) else { continue };
        let rights = if is_folder { rights } else { rights & AccessFs::from_file(RIGHTS) };
        created = created.add_rule(PathBeneath::new(file, rights))?;
    }
    Ok(created)
}

/// Rights on a file, or on a folder and all below it. What is granted twice has the rights of both.
struct Grant {
    path: PathBuf,
    rights: BitFlags<AccessFs>,
    is_folder: bool,
}

/// Grants rights on what is visible of a root of the policy.
fn grant_visible(root: &Path, rights: BitFlags<AccessFs>, hidden: &[PathBuf], grants: &mut Vec<Grant>) {
    if hidden.iter().any(|one| root.starts_with(one)) {
        return;
    }
    let below: Vec<&Path> = hidden.iter().filter_map(|one| one.strip_prefix(root).ok()).collect();
    let is_folder = fs::metadata(root).is_ok_and(|found| found.is_dir());
    grant_parts(Grant { path: root.to_owned(), rights, is_folder }, &below, grants);
}

/// Makes a grant; where something is `hidden` below it, on its entries one by one, and only the listing of names on the
/// folder itself. Entries that appear later are not granted there. `hidden` is relative to the path.
fn grant_parts(grant: Grant, hidden: &[&Path], grants: &mut Vec<Grant>) {
    if hidden.is_empty() {
        grants.push(grant);
        return;
    }
    let Grant { path, rights, .. } = grant;
    let parted = |one: &'_ Path| -> Option<(OsString, PathBuf)> {
        let mut parts = one.iter();
        Some((parts.next()?.to_owned(), parts.as_path().to_owned()))
    };
    let hidden: Vec<(OsString, PathBuf)> = hidden.iter().copied().filter_map(parted).collect();
    for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
        let (name, kind) = (entry.file_name(), entry.file_type());
        // A link leads to where a grant of its own counts.
        if kind.as_ref().is_ok_and(fs::FileType::is_symlink) {
            continue;
        }
        let below: Vec<&Path> =
            hidden.iter().filter(|(first, _)| *first == name).map(|(_, rest)| rest.as_path()).collect();
        if !below.iter().any(|one| one.as_os_str().is_empty()) {
            let is_folder = kind.is_ok_and(|kind| kind.is_dir());
            grant_parts(Grant { path: path.join(name), rights, is_folder }, &below, grants);
        }
    }
    grants.push(Grant { path, rights: AccessFs::ReadDir.into(), is_folder: true });
}

fn limit(policy: &SandboxPolicy) -> io::Result<()> {
    let lower = |resource, most: u64| {
        let now = getrlimit(resource);
        let most = now.maximum.map_or(most, |now| now.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, policy.limits.file_bytes)?;
    Ok(())
}

/// Drops all capabilities, so that a command of root has the rights of the owner of root's files and no more.
fn drop_capabilities() -> io::Result<()> {
    for capability in CapabilitySet::all().iter() {
        // Only a process that has capabilities may drop them here, and only such a one needs to.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    rustix::thread::clear_ambient_capability_set()?;
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    Ok(())
}

/// Lists system calls, each with its number.
macro_rules! calls {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
}

/// System calls that reach into other processes, the kernel or the machine; by name and number.
pub(super) const FORBIDDEN: &[(&str, i64)] = calls![
    SYS_ptrace
    SYS_process_vm_readv
    SYS_process_vm_writev
    SYS_process_madvise
    SYS_pidfd_getfd
    SYS_kcmp
    SYS_io_uring_setup
    SYS_io_uring_enter
    SYS_io_uring_register
    SYS_keyctl
    SYS_add_key
    SYS_request_key
    SYS_bpf
    SYS_perf_event_open
    SYS_userfaultfd
    SYS_mount
    SYS_umount2
    SYS_move_mount
    SYS_open_tree
    SYS_fsopen
    SYS_fsconfig
    SYS_fsmount
    SYS_fspick
    SYS_mount_setattr
    SYS_pivot_root
    SYS_chroot
    SYS_unshare
    SYS_setns
    SYS_open_by_handle_at
    SYS_name_to_handle_at
    SYS_kexec_load
    SYS_init_module
    SYS_finit_module
    SYS_delete_module
    SYS_swapon
    SYS_swapoff
    SYS_reboot
    SYS_acct
    SYS_quotactl
    SYS_settimeofday
    SYS_clock_settime
    SYS_clock_adjtime
    SYS_adjtimex
    SYS_sethostname
    SYS_setdomainname
    SYS_syslog
    SYS_vhangup
    SYS_personality
    SYS_lookup_dcookie
];

/// System calls that change permissions, owners, times and attributes. A read-only command needs none, and Landlock does
/// not cover them.
const METADATA: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

const SYS_FCHMODAT2: i64 = 452;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_FILE_SETATTR: i64 = 469;

/// Requests of `ioctl` that change the flags of a file.
const FLAG_REQUESTS: [u64; 2] = [0x4008_6602, 0x401C_5820];

/// System calls for memory, queues and semaphores that other processes of the user share by a number.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
];

/// Flags of `clone` that make namespaces.
pub(super) const NEW_NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Requests of `ioctl` that type into a terminal or change its console.
pub(super) const TERMINAL_REQUESTS: [u64; 2] = [0x5412, 0x541C];

/// Bits of a socket's type that say what it is; the others are flags.
pub(super) const SOCKET_TYPE: u64 = 0xF;

/// The families of sockets that namespaces or a shared network leave harmless. Sockets with a path are not among them: any
/// readable folder may hold one of another process.
pub(super) const FAMILIES: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// The bit in the numbers of system calls of the x32 interface, which reaches the same calls on the same processor.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

type FilterRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Compiles the filters: a forbidden call fails with `EPERM`; `clone3`, whose flags cannot be read, with `ENOSYS`, so that
/// the C library uses `clone`.
fn filters(policy: &SandboxPolicy, namespaces: Namespaces) -> io::Result<[BpfProgram; 2]> {
    let mut rules = FilterRules::new();
    let mut forbid = |calls: &[i64]| rules.extend(calls.iter().map(|call| (*call, Vec::new())));
    let forbidden: Vec<i64> = FORBIDDEN.iter().map(|(_, call)| *call).collect();
    forbid(&forbidden);
    if policy.confinement == Confinement::ReadOnly && namespaces == Namespaces::Host {
        forbid(METADATA);
    }
    let mut conditional: Vec<(i64, Vec<SeccompCondition>)> = Vec::new();
    for flag in NEW_NAMESPACES {
        let flag = number(flag);
        conditional.push((libc::SYS_clone, vec![test(0, SeccompCmpOp::MaskedEq(flag), flag)?]));
    }
    for request in TERMINAL_REQUESTS {
        conditional.push((libc::SYS_ioctl, vec![test(1, SeccompCmpOp::Eq, request)?]));
    }
    // A datagram socket of a pair could send to any path.
    let datagram = test(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), number(libc::SOCK_DGRAM))?;
    match (namespaces, policy.has_network()) {
        (Namespaces::Own, _) | (Namespaces::Host, true) => {
            conditional.push((libc::SYS_socket, no_other_family()?));
        }
        (Namespaces::Host, false) => forbid(&[libc::SYS_socket]),
    }
    conditional.push((libc::SYS_socketpair, vec![datagram]));
    if namespaces == Namespaces::Host {
        forbid(SHARED);
        conditional.push((libc::SYS_prlimit64, vec![test(0, SeccompCmpOp::Ne, 0)?]));
    }
    if policy.confinement == Confinement::ReadOnly {
        for request in FLAG_REQUESTS {
            conditional.push((libc::SYS_ioctl, vec![test(1, SeccompCmpOp::Eq, request)?]));
        }
    }
    for (call, tests) in conditional {
        rules.entry(call).or_default().push(SeccompRule::new(tests).map_err(io::Error::other)?);
    }
    Ok([
        compile(rules, libc::EPERM)?,
        compile(FilterRules::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?,
    ])
}

/// Tests for a family of sockets other than the known ones.
fn no_other_family() -> io::Result<Vec<SeccompCondition>> {
    FAMILIES.iter().map(|family| test(0, SeccompCmpOp::Ne, number(*family))).collect()
}

/// Tests the low half of an argument: the kernel reads no more of these.
fn test(argument: u8, operation: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value).map_err(io::Error::other)
}

fn number(constant: i32) -> u64 {
    u64::from(constant.unsigned_abs())
}

fn compile(rules: FilterRules, errno: i32) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let action = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).map_err(io::Error::other)?;
    let program = BpfProgram::try_from(filter).map_err(io::Error::other)?;
    Ok([other_numbers(), program].concat())
}

/// Refuses all calls of the x32 interface, as a kernel without it does: no rule names their numbers.
#[cfg(target_arch = "x86_64")]
fn other_numbers() -> BpfProgram {
    let step = |code: u32, jf, k| sock_filter { code: u16::try_from(code).unwrap_or(0), jt: 0, jf, k };
    vec![
        // The number of the call is the first field of what a filter sees.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn other_numbers() -> BpfProgram {
    Vec::new()
}

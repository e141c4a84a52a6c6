//! How much memory the process takes beyond what it uses: code that ran once, heaps of threads, and what is left at exit.

/// Makes the C code of all threads, the database's above all, allocate from one heap; Rust code has an allocator of its
/// own. The C library of GNU would otherwise give each thread its own heap, which it grows page by page with a system call
/// each, and of which every one keeps free room. Call it before any thread is started.
pub fn share_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[expect(unsafe_code, reason = "an option of the C library's allocator")]
        // SAFETY: it takes two numbers; where it fails, each thread keeps its own heap.
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Unmaps the code of this program, after the start and after each turn: the system maps it in large pieces, most of which
/// run once. Each part comes back when it runs next, from the file's pages in the system's cache. Does nothing on systems
/// other than Linux.
pub fn give_back_code() {
    #[cfg(target_os = "linux")]
    linux::give_back_code();
}

/// Ends the process. An ordinary exit would give the allocator's memory back piece by piece; the system does it at once.
/// Standard output is not flushed: a writer on a full pipe may hold its lock for ever, so the code that prints must flush it.
pub fn end_process(code: u8) -> ! {
    #[expect(unsafe_code, reason = "the standard library has only the ordinary exit")]
    // SAFETY: it takes a number, and what is registered to run at exit belongs to libraries that hold nothing unsaved.
    unsafe {
        libc::_exit(code.into())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::c_void;
    use std::path::Path;
    use std::sync::OnceLock;

    use rustix::mm::{Advice, madvise};

    pub(super) fn give_back_code() {
        static CODE: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
        CODE.get_or_init(mappings).iter().for_each(|(start, length)| drop_mapping(*start, *length));
    }

    /// Returns the ranges that hold the code of this program; they never change.
    fn mappings() -> Vec<(usize, usize)> {
        let (Ok(maps), Ok(program)) =
            (std::fs::read_to_string("/proc/self/maps"), std::fs::read_link("/proc/self/exe"))
        else {
            return Vec::new();
        };
        maps.lines().filter_map(|line| code(line, &program)).collect()
    }

    /// Returns the range of a mapping that holds the code of this program.
    fn code(line: &str, program: &Path) -> Option<(usize, usize)> {
        let mut fields = line.split_ascii_whitespace();
        let (range, rights) = (fields.next()?, fields.next()?);
        let is_program = fields.nth(3).is_some_and(|path| Path::new(path) == program);
        let (start, end) = range.split_once('-')?;
        let [start, end] = [start, end].map(|number| usize::from_str_radix(number, 16).ok());
        (rights == "r-xp" && is_program).then_some((start?, end?.checked_sub(start?)?))
    }

    #[expect(unsafe_code, reason = "the call is about memory that this program did not allocate")]
    fn drop_mapping(start: usize, length: usize) {
        // SAFETY: the range is the code of this program, which is linked without relocations of code, so that the pages
        // that the system reads anew hold what they held. It fails for a range that is gone.
        let _ = unsafe { madvise(start as *mut c_void, length, Advice::LinuxDontNeed) };
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_code_of_the_program_is_given_back() {
            let program = Path::new("/usr/bin/co");
            for (line, expected) in [
                ("00400000-00403000 r-xp 00001000 fe:00 42 /usr/bin/co", Some((0x400000, 0x3000))),
                ("00400000-00403000 r--p 00001000 fe:00 42 /usr/bin/co", None),
                ("00400000-00403000 rwxp 00001000 fe:00 42 /usr/bin/co", None),
                ("00400000-00403000 r-xp 00001000 fe:00 42 /usr/lib/libc.so", None),
                ("7ffc0000-7ffc2000 r-xp 00000000 00:00 0 [vdso]", None),
                ("7ffc0000-7ffc2000 r-xp 00000000 00:00 0", None),
                ("nonsense", None),
            ] {
                assert_eq!(code(line, program), expected, "{line}");
            }
            give_back_code();
            assert_eq!(code("0-1000 r-xp 0 0:0 1 /usr/bin/co", program), Some((0, 0x1000)), "it runs again");
        }
    }
}

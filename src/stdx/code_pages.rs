//! Gives back memory that holds the program's own code.
//!
//! The system maps code in large pieces, and the start of the program touches most of them once. Whatever is needed again
//! is mapped again, from the file's pages in the system's cache.

/// Unmaps the code of this program; each part comes back when it runs next. Does nothing on systems other than Linux.
pub fn give_back_code() {
    #[cfg(target_os = "linux")]
    linux::give_back_code();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::c_void;

    use rustix::mm::{Advice, madvise};

    pub(super) fn give_back_code() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        maps.lines().filter_map(code).for_each(|(start, length)| drop_mapping(start, length));
    }

    /// Returns the range of a mapping that holds a file's code, which nothing but the file can have filled.
    fn code(line: &str) -> Option<(usize, usize)> {
        let mut fields = line.split_ascii_whitespace();
        let (range, rights) = (fields.next()?, fields.next()?);
        let is_file = fields.nth(3).is_some_and(|path| path.starts_with('/'));
        let (start, end) = range.split_once('-')?;
        let [start, end] = [start, end].map(|number| usize::from_str_radix(number, 16).ok());
        (rights == "r-xp" && is_file).then_some((start?, end?.checked_sub(start?)?))
    }

    #[expect(unsafe_code, reason = "the system is told about memory that this program did not allocate")]
    fn drop_mapping(start: usize, length: usize) {
        // SAFETY: the range is a private mapping of a file that was never writable, so that the pages that the system
        // reads anew hold what they held. It fails for a range that is gone.
        let _ = unsafe { madvise(start as *mut c_void, length, Advice::LinuxDontNeed) };
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_code_of_files_is_given_back() {
            for (line, expected) in [
                ("00400000-00403000 r-xp 00001000 fe:00 42 /usr/bin/co", Some((0x400000, 0x3000))),
                ("00400000-00403000 r--p 00001000 fe:00 42 /usr/bin/co", None),
                ("00400000-00403000 rwxp 00001000 fe:00 42 /usr/bin/co", None),
                ("7ffc0000-7ffc2000 r-xp 00000000 00:00 0 [vdso]", None),
                ("7ffc0000-7ffc2000 r-xp 00000000 00:00 0", None),
                ("nonsense", None),
            ] {
                assert_eq!(code(line), expected, "{line}");
            }
            give_back_code();
            assert_eq!(code("0-1000 r-xp 0 0:0 1 /x"), Some((0, 0x1000)), "what was given back runs again");
        }
    }
}

//! One table for the names of an enum's variants.

/// Gives variants the names that they have in a file, with `NAMES` and `named`; `all` adds `ALL` and `word`, for enums of
/// which every variant has a name; `word` gives only that.
#[macro_export]
macro_rules! names {
    ($type:ident { $($variant:ident = $text:literal,)+ }) => {
        impl $type {
            /// The names as written in a file.
            pub const NAMES: &'static [&'static str] = &[$($text,)+];

            /// Returns the variant with that name, if there is one.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
    ($type:ident, all { $($variant:ident = $text:literal,)+ }) => {
        $crate::names! { $type { $($variant = $text,)+ } }
        $crate::names! { $type, word { $($variant = $text,)+ } }

        impl $type {
            pub const ALL: [Self; Self::NAMES.len()] = [$(Self::$variant,)+];
        }
    };
    ($type:ident, word { $($variant:ident = $text:literal,)+ }) => {
        impl $type {
            /// The name as typed and shown.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

pub use names;

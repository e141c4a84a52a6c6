//! Images of a prompt: reads files, checks their bytes, and makes parts of them.
//!
//! Blocking, except [`attach`]; it must never run on the thread that updates a screen. It reads only what the
//! user named. Called by the owner of a session, by the command line, and by the screen's shell for chips.

mod dropped;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub use self::dropped::path_lists;
use crate::message::UserPart;
use crate::message::images::{Mention, mentions};
use crate::stdx::image::{Fault, Image, Size, look};
use crate::stdx::text;

/// Maximum size of one image, in bytes. Services accept 5 to 20 MB.
pub const LARGEST: usize = 10_000_000;
/// Maximum number of images in one prompt.
pub const MOST: usize = 20;
/// Maximum time to read the files of one prompt, on any file system.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a prompt with images cannot be sent as it is. The text says what happened and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("there is no file {name}")]
    Missing { name: String },
    #[error("{name} is not a supported image; convert it to PNG, JPEG, GIF or WebP")]
    NotAnImage { name: String },
    #[error("{name} is damaged: its header is cut off or invalid")]
    Broken { name: String },
    #[error("{name} is larger than {}; shrink it first", text::size(LARGEST))]
    TooLarge { name: String },
    #[error("{name} cannot be read: {detail}")]
    Unreadable { name: String, detail: String },
    #[error("{count} images are too many: the limit is {MOST} per prompt; send the rest with the next one")]
    TooMany { count: usize },
    #[error("reading the images took more than 10 seconds; copy them to a local disk first")]
    Slow,
    #[error("{model} does not accept images: switch to a model that does (/model), or leave the image out")]
    ModelWithoutImages { model: String },
}

/// The base folders of written paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRoots {
    /// The folder that relative paths start from.
    pub folder: PathBuf,
    /// The folder in place of `~/`.
    pub home: Option<PathBuf>,
}

/// An image file that a pasted text named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenImage {
    /// The path for its mention.
    pub path: String,
    pub size: Size,
}

impl PathRoots {
    pub fn path(&self, written: &str) -> PathBuf {
        match (written.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_) | None, _) => self.folder.join(written),
        }
    }
}

/// A prompt as the user gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    /// The files that the user named in it. Files named in pasted or piped text do not count: text by others
    /// must not send the user's files anywhere.
    pub named: Vec<Mention>,
}

impl Prompt {
    /// Creates a prompt from text that the user wrote themselves.
    pub fn written(text: String) -> Self {
        Self { named: mentions(&text), text }
    }
}

/// Returns the parts of a prompt: its text, then the images that it names, each file once. Mentions of files
/// that are no images, also by their extension, stay text. `unsupported_by` is the model that will answer, if it accepts no
/// images. Runs on another thread, with a time limit.
pub async fn attach(
    prompt: Prompt,
    places: PathRoots,
    unsupported_by: Option<String>,
) -> Result<Vec<UserPart>, ImageError> {
    if prompt.named.is_empty() {
        return Ok(vec![UserPart::Text { text: prompt.text }]);
    }
    let reading = tokio::task::spawn_blocking(move || parts(prompt, &places, unsupported_by));
    match tokio::time::timeout(PATIENCE, reading).await {
        Ok(Ok(parts)) => parts,
        Ok(Err(broken)) => {
            Err(ImageError::Unreadable { name: "an image".to_owned(), detail: broken.to_string() })
        }
        Err(_overdue) => Err(ImageError::Slow),
    }
}

fn parts(
    prompt: Prompt,
    places: &PathRoots,
    unsupported_by: Option<String>,
) -> Result<Vec<UserPart>, ImageError> {
    let Prompt { text, named } = prompt;
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut images: Vec<UserPart> = Vec::new();
    for mention in named {
        let path = places.path(&mention.path);
        if paths.contains(&path) {
            continue;
        }
        let Some((image, bytes)) = mentioned_image(&path, &mention)? else { continue };
        if let Some(model) = unsupported_by {
            return Err(ImageError::ModelWithoutImages { model });
        }
        paths.push(path);
        if paths.len() <= MOST {
            images.push(part(image, &bytes));
        }
    }
    if paths.len() > MOST {
        return Err(ImageError::TooMany { count: paths.len() });
    }
    Ok([UserPart::Text { text }].into_iter().chain(images).collect())
}

/// Returns the image of a mention; `None` if the mention means another kind of file.
fn mentioned_image(path: &Path, mention: &Mention) -> Result<Option<(Image, Vec<u8>)>, ImageError> {
    match read(path, &mention.path) {
        Ok(found) => Ok(Some(found)),
        Err(ImageError::Missing { .. } | ImageError::NotAnImage { .. } | ImageError::Unreadable { .. })
            if !mention.promises_image() =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Reads one image file, up to a size limit. `name` is the user's name for it.
pub fn read(path: &Path, name: &str) -> Result<(Image, Vec<u8>), ImageError> {
    let unreadable = |error: &io::Error| match error.kind() {
        io::ErrorKind::NotFound => ImageError::Missing { name: name.to_owned() },
        _ => ImageError::Unreadable { name: name.to_owned(), detail: error.to_string() },
    };
    let metadata = path.metadata().map_err(|error| unreadable(&error))?;
    // Reading a pipe or a device might never end.
    if !metadata.is_file() {
        let detail = "it is not a regular file".to_owned();
        return Err(ImageError::Unreadable { name: name.to_owned(), detail });
    }
    let mut file = File::open(path).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    // A large file of another kind is not read completely.
    let mut take = |bytes: &mut Vec<u8>, limit: usize| {
        let room = u64::try_from(limit.saturating_sub(bytes.len())).unwrap_or(u64::MAX);
        (&mut file).take(room).read_to_end(bytes).map_err(|error| unreadable(&error))
    };
    take(&mut bytes, HEAD)?;
    if look(&bytes) != Err(Fault::Other) {
        take(&mut bytes, LARGEST + 1)?;
    }
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX).max(bytes.len());
    check(&bytes, size, name).map(|image| (image, bytes))
}

/// Enough bytes for every format's signature.
const HEAD: usize = 64;

/// Checks that the bytes are an image that can be sent. `size` is that of the whole file.
pub fn check(bytes: &[u8], size: usize, name: &str) -> Result<Image, ImageError> {
    let name = name.to_owned();
    match look(bytes) {
        Err(Fault::Other) => Err(ImageError::NotAnImage { name }),
        Ok(_) | Err(Fault::Broken) if size > LARGEST => Err(ImageError::TooLarge { name }),
        Err(Fault::Broken) => Err(ImageError::Broken { name }),
        Ok(image) => Ok(image),
    }
}

fn part(image: Image, bytes: &[u8]) -> UserPart {
    UserPart::Image { media_type: image.format.media_type().to_owned(), data: STANDARD.encode(bytes) }
}

/// Returns the images if a pasted text consists only of their paths, else an empty list. Errs if such an
/// image cannot be sent: its path is then better left as text.
pub fn pasted_images(text: &str, places: &PathRoots) -> Result<Vec<SeenImage>, ImageError> {
    for paths in path_lists(text) {
        if !paths.iter().all(|path| places.path(path).is_file()) {
            continue;
        }
        let one = |path: &String| {
            let (image, _) = read(&places.path(path), path)?;
            Ok(SeenImage { path: path.clone(), size: image.size })
        };
        return match paths.iter().map(one).collect() {
            // Paths of other files are pasted as text.
            Err(ImageError::NotAnImage { .. }) => Ok(Vec::new()),
            found => found,
        };
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::message::images::mention;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = Self(tempfile::tempdir().unwrap());
            let png = png(1280, 800);
            let large = [png.clone(), vec![0; LARGEST]].concat();
            let files: &[(&str, &[u8])] = &[
                ("x.png", &png),
                ("shot", &png),
                ("my x.png", &png),
                // The extension says PNG, the bytes say JPEG.
                ("lies.png", b"\xff\xd8\xff\xc0\0\x0b\x08\0\x02\0\x03"),
                ("text.png", b"# nothing to see"),
                ("half.png", &png[..18]),
                ("large.png", &large),
                ("main.rs", b"fn main() {}"),
            ];
            for (name, bytes) in files {
                fs::write(folder.0.path().join(name), bytes).unwrap();
            }
            fs::create_dir(folder.0.path().join("dir.png")).unwrap();
            folder
        }

        fn places(&self) -> PathRoots {
            PathRoots { folder: self.0.path().to_owned(), home: Some(self.0.path().to_owned()) }
        }
    }

    /// Returns the media types of the images that a text attaches, or why there are none.
    fn attached(text: &str, folder: &Folder) -> Result<Vec<String>, String> {
        let parts = parts(Prompt::written(text.to_owned()), &folder.places(), None)
            .map_err(|error| error.to_string())?;
        assert_eq!(parts[0], UserPart::Text { text: text.to_owned() });
        let media = |part: &UserPart| match part {
            UserPart::Image { media_type, .. } => media_type.clone(),
            other => panic!("{other:?}"),
        };
        Ok(parts[1..].iter().map(media).collect())
    }

    #[test]
    fn mentioned_images_are_attached_by_their_bytes() {
        let folder = Folder::new();
        let cases: &[(&str, Result<&[&str], &str>)] = &[
            ("hi", Ok(&[])),
            ("what is @x.png?", Ok(&["image/png"])),
            ("@x.png and @x.png again", Ok(&["image/png"])),
            ("@shot @lies.png @main.rs @~/x.png", Ok(&["image/png", "image/jpeg", "image/png"])),
            ("@\"my x.png\"", Ok(&["image/png"])),
            ("ask @dana, see @main.rs and @nothing", Ok(&[])),
            ("@gone.png", Err("there is no file gone.png")),
            ("@text.png", Err("text.png is not a supported image; convert it to PNG, JPEG, GIF or WebP")),
            ("@half.png", Err("half.png is damaged: its header is cut off or invalid")),
            ("@large.png", Err("large.png is larger than 10 MB; shrink it first")),
            ("@dir.png", Err("dir.png cannot be read: it is not a regular file")),
        ];
        for (text, expected) in cases {
            let expected = expected.map(<[&str]>::to_vec).map_err(str::to_owned);
            let found = attached(text, &folder);
            let found =
                found.as_ref().map(|all| all.iter().map(String::as_str).collect()).map_err(Clone::clone);
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn images_have_a_limit_and_a_model_must_see_them() {
        let folder = Folder::new();
        let many: String = (0..=MOST).map(|at| format!("@{at}.png ")).collect();
        for at in 0..=MOST {
            fs::write(folder.0.path().join(format!("{at}.png")), png(1, 1)).unwrap();
        }
        assert_eq!(attached(&many, &folder).unwrap_err(), ImageError::TooMany { count: 21 }.to_string());
        let unsupported = || Some("small".to_owned());
        assert_eq!(
            parts(Prompt::written("@x.png".into()), &folder.places(), unsupported()),
            Err(ImageError::ModelWithoutImages { model: "small".into() })
        );
        assert!(parts(Prompt::written("@main.rs".into()), &folder.places(), unsupported()).is_ok());
        let pasted = Prompt { text: "@x.png @gone.png".into(), named: Vec::new() };
        assert_eq!(parts(pasted, &folder.places(), None).unwrap().len(), 1);
    }

    #[test]
    fn pasted_paths_of_images_are_seen() {
        let folder = Folder::new();
        let at = folder.0.path().display().to_string();
        let cases: &[(String, &[&str])] = &[
            (format!("{at}/x.png"), &["/x.png"]),
            (format!("{at}/my x.png"), &["/my x.png"]),
            (format!("{at}/my\\ x.png {at}/x.png"), &["/my x.png", "/x.png"]),
            (format!("'{at}/my x.png' "), &["/my x.png"]),
            (format!("file://{at}/my%20x.png\n"), &["/my x.png"]),
            (format!("{at}/x.png\n{at}/shot\n"), &["/x.png", "/shot"]),
            (format!("see {at}/x.png"), &[]),
            (format!("{at}/x.png {at}/main.rs"), &[]),
            (format!("{at}/text.png"), &[]),
            (format!("{at}/gone.png"), &[]),
        ];
        for (text, expected) in cases {
            let found = pasted_images(text, &folder.places()).unwrap();
            let paths: Vec<&str> = found.iter().map(|one| one.path.strip_prefix(&at).unwrap()).collect();
            assert_eq!(&paths, expected, "{text:?}");
            assert!(found.iter().all(|one| mention(&one.path).is_some()));
        }
        assert_eq!(pasted_images("x.png", &folder.places()).unwrap()[0].path, "x.png");
        assert!(matches!(pasted_images("large.png", &folder.places()), Err(ImageError::TooLarge { .. })));
    }
}

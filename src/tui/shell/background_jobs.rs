//! Work in the background: whether a pasted text names images, the content of the clipboard, and languages, so that no
//! frame waits for them. An answer that is no longer needed is dropped.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;

use super::clipboard::{self, ClipboardContent};
use crate::frontend::images::{PathRoots, SeenImage, check, pasted_images};
use crate::stdx::fs::{create_private_dir, fingerprint, open_private};
use crate::tui::markdown::Languages;
use crate::tui::msg::{Input, PastedItem};

/// The capacity of the answer channel; a thread blocks when it is full.
const WAITING: usize = 8;

/// How long a pasted image is kept as a file: a draft or an earlier line may name it.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Runs the work and receives the answers.
pub struct BackgroundJobs {
    /// The folder for images from the clipboard.
    folder: PathBuf,
    home: Option<PathBuf>,
    done: mpsc::Sender<Input>,
    answers: mpsc::Receiver<Input>,
}

impl BackgroundJobs {
    pub fn new(folder: PathBuf, home: Option<PathBuf>) -> Self {
        let (done, answers) = mpsc::channel(WAITING);
        Self { folder, home, done, answers }
    }

    /// Checks whether a text consists only of paths of images; answers only if so.
    pub fn name(&self, text: String, folder: PathBuf) {
        let done = self.done.clone();
        let places = PathRoots { folder, home: self.home.clone() };
        tokio::task::spawn_blocking(move || {
            let images = pasted_images(&text, &places);
            if images.as_ref().is_ok_and(Vec::is_empty) {
                return;
            }
            // The screen may be gone.
            let _ = done.blocking_send(Input::Named { text, images });
        });
    }

    pub fn read_clipboard(&self) {
        let (done, folder) = (self.done.clone(), self.folder.clone());
        tokio::spawn(async move {
            let clip = match clipboard::read().await {
                Ok(ClipboardContent::Text(text)) => Ok(PastedItem::Text(text)),
                Ok(ClipboardContent::Image(bytes)) => keep_image(bytes, folder).await.map(PastedItem::Image),
                Err(words) => Err(words),
            };
            let _ = done.send(Input::Clipboard(clip)).await;
        });
    }

    /// Loads languages on a new thread, for which the program does not wait; if none can be started, the code stays plain.
    pub fn load(&self, languages: Languages) {
        let done = self.done.clone();
        let load = move || {
            for ready in languages.load() {
                if done.blocking_send(Input::Loaded(ready)).is_err() {
                    tracing::debug!("a language was loaded for a screen that is gone");
                    return;
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name("languages".to_owned()).spawn(load) {
            tracing::debug!(%error, "no thread to load languages on");
        }
    }

    /// Returns the next answer. Cancel-safe.
    pub async fn next_answer(&mut self) -> Input {
        match self.answers.recv().await {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

async fn keep_image(bytes: Vec<u8>, folder: PathBuf) -> Result<SeenImage, String> {
    let keeping = tokio::task::spawn_blocking(move || keep(&bytes, &folder));
    keeping.await.unwrap_or_else(|error| Err(error.to_string()))
}

/// Writes an image to a file that only its owner can access, so that the composer can name it.
fn keep(bytes: &[u8], folder: &Path) -> Result<SeenImage, String> {
    let image = check(bytes, bytes.len(), "the clipboard image").map_err(|error| error.to_string())?;
    let name = fingerprint(bytes);
    let name = name.split_at(name.len().min(8)).0;
    let path = folder.join(format!("{name}.{}", image.format.extension()));
    write(&path, folder, bytes).map_err(|error| format!("the image could not be saved: {error}"))?;
    Ok(SeenImage { path: path.display().to_string(), size: image.size })
}

fn write(path: &Path, folder: &Path, bytes: &[u8]) -> io::Result<()> {
    create_private_dir(folder)?;
    forget_old(folder);
    let mut file = open_private(path)?;
    file.set_len(0)?;
    file.write_all(bytes)
}

/// Removes expired files; those that cannot be removed stay until the next time.
fn forget_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|then| SystemTime::now().duration_since(then).ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x03\x20\x08\x06\0\0\0";

    #[test]
    fn a_pasted_image_is_a_file_of_its_owner_for_a_month() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("pasted");
        let first = keep(PNG, &folder).unwrap();
        assert_eq!((first.size.width, first.size.height), (1280, 800));
        assert_eq!(keep(PNG, &folder).unwrap(), first, "the same image is the same file");
        assert_eq!(fs::read(&first.path).unwrap(), PNG);
        assert_eq!(fs::metadata(&first.path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(keep(b"no image", &folder).unwrap_err().contains("not a supported image"));

        let old = folder.join("old.png");
        let file = fs::File::create(&old).unwrap();
        file.set_modified(SystemTime::now() - KEPT - Duration::from_secs(60)).unwrap();
        keep(PNG, &folder).unwrap();
        assert!(!old.exists() && Path::new(&first.path).exists());
    }
}

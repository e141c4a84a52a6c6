//! Files that are more than lines of UTF-8: images, notebooks, documents, and texts in other encodings.

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x03 \x08\x06\0\0\0";
const PDF: &[u8] = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\nstream";

/// Returns a text in UTF-16 with its mark.
fn utf16(text: &str, bytes: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
}

#[tokio::test]
async fn images_are_shown() {
    use base64::Engine as _;
    let mut bench = Bench::new(&[("a.txt", "x: image 1x1, y\n")]);
    bench.put("a.png", PNG);
    bench.put("large.gif", [b"GIF89a\x01\0\x01\0\xff".as_slice(), &vec![0; 5_000_000]].concat());
    bench.put("broken.jpg", b"\xff\xd8\xff\xe0\0");
    let output = bench.run("read_file", &json!({"path": "a.png"})).await.unwrap();
    let words = "a.png: image 1280x800, image/png, 29 bytes";
    let data = base64::engine::general_purpose::STANDARD.encode(PNG);
    assert_eq!(
        output.content,
        [
            ReturnPart::Text { text: words.to_owned() },
            ReturnPart::Image { media_type: "image/png".to_owned(), data }
        ]
    );
    assert_eq!(output.seen.len(), 1);
    bench
        .check(&[
            (
                "read_file",
                json!({"path": "large.gif"}),
                "=large.gif is not text: a GIF image, 5000011 bytes; images of more than 5 MB are not shown; make it \
                 smaller with a command first",
            ),
            ("read_file", json!({"path": "broken.jpg"}), "=broken.jpg is not text: a JPEG image, 5 bytes; its content is not shown"),
        ])
        .await;
    let tool = bench.tool("read_file");
    for (text, expected) in [
        (words, "image 1280x800"),
        ("a: image 9x9, b.png: image 1x2, image/png, 3 bytes", "image 1x2"),
        ("     1\tx: image 1x1, y\n", "1 line"),
        ("a.bin is not text: binary data, 3 bytes; its content is not shown", "no text"),
    ] {
        assert_eq!(tool.outcome(ReturnStatus::Ok, text), expected);
    }
}

#[tokio::test]
async fn notebooks_are_cells_and_broken_ones_are_text() {
    let notebook = json!({"cells": [{"cell_type": "code", "execution_count": 1, "source": ["1 + 1\n", "2"], "outputs": [
        {"output_type": "execute_result", "data": {"text/plain": "2"}},
    ]}]});
    let mut bench = Bench::new(&[("a.ipynb", &notebook.to_string()), ("bad.ipynb", "{\"cells\": 1}\n")]);
    bench
        .check(&[
            (
                "read_file",
                json!({"path": "a.ipynb"}),
                "=     1\t[a notebook of 1 cells]\n     2\t[cell 1, code, run 1]\n     3\t1 + 1\n     4\t2\n     5\t[output of cell 1]\n\
                 \u{20}    6\t2\n[these are its cells, not its lines; change its JSON with a command]\n",
            ),
            ("read_file", json!({"path": "a.ipynb", "offset": 4, "limit": 1}), "     4\t2\n[6 lines in all; go on with offset 5]\n"),
            ("read_file", json!({"path": "bad.ipynb"}), "     1\t{\"cells\": 1}\n[not a notebook that can be shown as cells: invalid type"),
        ])
        .await;
}

/// A workspace with a document, in which `pdftotext` is this script.
fn with_pdftotext(script: &str) -> Bench {
    let bench = Bench::with_programs(&[], Some(("pdftotext", script)));
    bench.put("-a.pdf", PDF);
    bench
}

#[tokio::test]
async fn documents_are_read_by_another_program_that_knows_nothing_else() {
    for (script, expected) in [
        (
            "cat; printf '\\none\\n\\f two\\n\\f'",
            "two\n[the text of a PDF document; its layout is approximate]\n",
        ),
        (
            "head -c 8 | tr -d '%'",
            "=     1\t[page 1]\n     2\tPDF-1.4\n[the text of a PDF document; its layout is approximate]\n",
        ),
        ("echo \"$*\"", "     2\t-layout -enc UTF-8 - -\n"),
        ("echo \"home=$HOME\"; pwd", "     2\thome=\n     3\tBASE/ws\n"),
        (
            "echo oh >&2; exit 3",
            "=TERMINAL the text of -a.pdf cannot be read: pdftotext ended with exit 3; it is damaged, or needs a password",
        ),
        ("kill -9 $$", "=TERMINAL the text of -a.pdf cannot be read: pdftotext was ended by signal 9"),
        (
            "printf ' \\n\\f'",
            "=-a.pdf is not text: a PDF document, 21 bytes; its content is not shown: there is no text in it, only pictures of pages",
        ),
        ("exit 127", "that needs pdftotext, which is not installed (package poppler-utils or poppler)"),
        ("exec yes", "[the text goes on; it is too long to be read whole]\n"),
    ] {
        let mut bench = with_pdftotext(script);
        bench.check(&[("read_file", json!({"path": "-a.pdf"}), expected)]).await;
    }
}

#[tokio::test]
async fn a_document_that_takes_long_ends_on_cancel() {
    let mut bench = with_pdftotext("echo > ../begun; exec sleep 1000");
    let fifo = bench.base.join("begun");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let cancel = bench.cancel.clone();
    let begun = tokio::task::spawn_blocking(move || {
        fs::read(fifo).unwrap();
        cancel.cancel();
    });
    let said = bench.call("read_file", json!({"path": "-a.pdf"})).await;
    begun.await.unwrap();
    assert_eq!(said, "TERMINAL interrupted before it finished");
}

#[tokio::test]
async fn changes_keep_encoding_line_ends_and_mode() {
    let text = "one\r\ntwo é\r\n";
    let forms: [(&str, Vec<u8>, &str); 5] = [
        ("le.txt", utf16(text, u16::to_le_bytes), "UTF-16 LE"),
        ("be.txt", utf16(text, u16::to_be_bytes), "UTF-16 BE"),
        ("bom.txt", ["\u{feff}", text].concat().into_bytes(), "UTF-8 with a byte order mark"),
        ("latin.txt", b"one\r\ntwo \xe9\r\n".to_vec(), "Windows-1252"),
        ("plain.txt", text.as_bytes().to_vec(), ""),
    ];
    let mut bench = Bench::new(&[]);
    for (path, bytes, encoding) in &forms {
        bench.put(path, bytes);
        fs::set_permissions(bench.at(path), fs::Permissions::from_mode(0o751)).unwrap();
        let note = if encoding.is_empty() {
            String::new()
        } else {
            format!("[decoded from {encoding}; changes keep it]\n")
        };
        // A mark in the text is the file's own.
        let mark = if encoding.starts_with("UTF") { "\u{feff}" } else { "" };
        let read = format!("=     1\tone\n     2\ttwo é\n[lines end in CR LF]\n{note}");
        let patch = format!("--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,3 @@\n 1\n-two é\n+two ü\n+3\n");
        bench
            .check(&[
                ("read_file", json!({ "path": path }), &read),
                ("edit_file", json!({"path": path, "old": "one\n", "new": "1\n"}), "-one\n+1\n two é"),
                ("apply_patch", json!({ "patch": patch }), "changed"),
                ("write_file", json!({"path": path, "content": "1\r\ntwo ü\r\n3\r\n"}), "MISUSE"),
                (
                    "write_file",
                    json!({"path": path, "content": "1\ntwo ü\n3\n"}),
                    "already has exactly this content",
                ),
                ("write_file", json!({"path": path, "content": format!("{mark}1\ntwo ü\n3\n4")}), "replaced"),
                ("edit_file", json!({"path": path, "old": "4", "new": "four\n"}), "+four"),
            ])
            .await;
        let expected = "1\r\ntwo ü\r\n3\r\nfour\r\n";
        let expected = match *encoding {
            "UTF-16 LE" => utf16(expected, u16::to_le_bytes),
            "UTF-16 BE" => utf16(expected, u16::to_be_bytes),
            "Windows-1252" => b"1\r\ntwo \xfc\r\n3\r\nfour\r\n".to_vec(),
            _ => [mark, expected].concat().into_bytes(),
        };
        assert_eq!(fs::read(bench.at(path)).unwrap(), expected, "{path}");
        assert_eq!(fs::metadata(bench.at(path)).unwrap().permissions().mode() & 0o777, 0o751, "{path}");
    }
    for (name, args) in [
        ("edit_file", json!({"path": "latin.txt", "old": "four", "new": "четыре"})),
        ("write_file", json!({"path": "latin.txt", "content": "четыре"})),
        ("apply_patch", json!({"patch": "--- a/latin.txt\n+++ b/latin.txt\n@@ -4 +4 @@\n-four\n+четыре\n"})),
    ] {
        let said = bench.call(name, args).await;
        assert!(
            said.contains("it is in Windows-1252, which has no `\\u{447}`; leave that character out"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn what_is_in_no_encoding_is_shown_and_not_edited() {
    let mut bench = Bench::new(&[]);
    bench.put("mixed", b"gr\xc3\xbcn caf\xe9\n");
    bench.put("torn", b"\xff\xfea\0b");
    bench
        .check(&[
            (
                "read_file",
                json!({"path": "mixed"}),
                "=     1\tgrün caf\u{fffd}\n[bytes that are not UTF-8 are shown as \u{fffd}]\n",
            ),
            (
                "read_file",
                json!({"path": "torn"}),
                "=torn is not text: UTF-16 text, 5 bytes; its content is not shown",
            ),
            (
                "edit_file",
                json!({"path": "mixed", "old": "gr", "new": "x"}),
                "=MISUSE mixed is no text in UTF-8, UTF-16 or Windows-1252; change it with a command instead",
            ),
            (
                "apply_patch",
                json!({"patch": "--- a/mixed\n+++ b/mixed\n@@ -1 +1 @@\n-gr\n+x\n"}),
                "mixed is no text in UTF-8",
            ),
            ("write_file", json!({"path": "mixed", "content": "grün\n"}), "replaced mixed"),
        ])
        .await;
}

#[tokio::test]
async fn read_file_shows_numbered_lines() {
    let mut bench = Bench::new(&[("a.txt", "one\ntwo\nthree\n"), ("empty", ""), ("sub/x", "")]);
    bench.put("bad.txt", b"caf\xe9\n");
    bench.put("pic.png", b"\x89PNG\r\n\x1a\n\x00\x00");
    bench.put("long.txt", "a line of some length\n".repeat(1000));
    let pipe = std::process::Command::new("mkfifo").arg(bench.at("pipe")).status().unwrap();
    assert!(pipe.success());
    let cases = [
        (json!({"path": "a.txt"}), "=     1\tone\n     2\ttwo\n     3\tthree\n"),
        (
            json!({"path": "a.txt", "offset": 2, "limit": 1}),
            "=     2\ttwo\n[3 lines in all; go on with offset 3]\n",
        ),
        (json!({"path": "./sub/../a.txt", "limit": null}), "one"),
        (json!({"path": "empty"}), "=[the file is empty]\n"),
        (json!({"path": "bad.txt"}), "café\n[decoded from Windows-1252"),
        (json!({"path": "pic.png"}), "=pic.png is not text: a PNG image, 10 bytes; its content is not shown"),
        (json!({"path": "long.txt"}), "[1000 lines in all; go on with offset "),
        (json!({"path": "a.txt", "offset": 9}), "MISUSE a.txt has 3 lines; offset 9 is past its end"),
        (json!({"path": "sub"}), "MISUSE sub is a folder; list_dir"),
        (json!({"path": "pipe"}), "MISUSE pipe is not a regular file"),
        (json!({"path": "b.txt"}), "MISUSE there is no b.txt; did you mean `a.txt` beside it?"),
        (json!({"path": "nowhere/at/all"}), "MISUSE there is no nowhere/at/all; find_files"),
        (json!({"path": "../other"}), "MISUSE `../other` leads outside BASE/ws, to BASE/other"),
        (json!({"path": "/etc/passwd"}), "MISUSE `/etc/passwd` leads outside"),
    ];
    let cases: Vec<_> = cases.into_iter().map(|(args, expected)| ("read_file", args, expected)).collect();
    bench.check(&cases).await;
    let output = bench.run("read_file", &json!({"path": "a.txt", "limit": 1})).await.unwrap();
    assert_eq!(output.source, Source::File { path: "a.txt".to_owned() });
    let resource = Resource(bench.at("a.txt").display().to_string());
    let version = Version(crate::stdx::fs::fingerprint(b"one\ntwo\nthree\n"));
    assert_eq!(output.seen, [(resource, version)]);
}

//! A real PDF document, read by the real `pdftotext`, in the open and in a sandbox.

use std::fmt::Write as _;

use super::kit::{each, replies, run, sent_lines, serve};
use crate::co::{Co, Wire};
use crate::skip::skipped;

/// A document of pages with one line of text each.
fn document(pages: &[&str]) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (page, text) in pages.iter().enumerate() {
        let drawing = format!("BT /F1 12 Tf 72 700 Td ({text}) Tj ET");
        let number = 5 + 2 * page;
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {number} 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{drawing}\nendstream", drawing.len()));
    }
    // Most writers mark the file as data by such a line.
    let mut bytes = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in (1..).zip(&objects) {
        writeln!(table, "{:010} 00000 n ", bytes.len()).unwrap();
        bytes.extend(format!("{number} 0 obj\n{object}\nendobj\n").bytes());
    }
    let end = bytes.len();
    bytes.extend(table.bytes());
    bytes.extend(
        format!("trailer << /Size {} /Root 1 0 R >>\nstartxref\n{end}\n%%EOF\n", objects.len() + 1).bytes(),
    );
    bytes
}

#[test]
fn the_text_of_a_real_document_is_read() {
    if std::process::Command::new("pdftotext").arg("-v").output().is_err() {
        return skipped("the text of a real PDF document (pdftotext is not installed)");
    }
    each(&["none", "auto"], 2, |backend| {
        let script = "reply\n  call read_file {\"path\":\"-two.pdf\"}\nreply\n  call read_file {\"path\":\"bad.pdf\"}\nreply\n  text Done.\n";
        let service = serve(replies(script));
        let co = Co::new()
            .file("work/-two.pdf", document(&["Hello one", "Second page"]))
            .file("work/bad.pdf", b"%PDF-1.4\n%\xe2\xe3 no document")
            .env("CO_SANDBOX_BACKEND", *backend)
            .with(&service, Wire::Anthropic);
        let ran = run(&co, &["-p", "read them"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let told = sent_lines(&service, 3);
        let returns: Vec<&String> = told.iter().filter(|line| line.starts_with("return ")).collect();
        for text in ["[page 1]", "Hello one", "[page 2]", "Second page", "[the text of a PDF document; "] {
            assert!(returns[0].contains(text), "{text}: {told:?}");
        }
        assert!(
            returns[1].contains("pdftotext ended with exit 1; it is damaged, or needs a password"),
            "{told:?}"
        );
    });
}

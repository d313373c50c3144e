//! Which authorities a server's certificate may come from: the machine's own store, and what an operator names.
//!
//! The store is the system's, unless `SSL_CERT_FILE` or `SSL_CERT_DIR` name another: then those alone. Files
//! are read at start, under limits, and what is wrong with one is told in words. Used by `connect`, `app` and
//! `mail_intake::imap`.

use std::io::Read;
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// A file of all public authorities has a quarter of this.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Certificates one file may hold.
const AUTHORITIES_MAX: usize = 1_000;

/// The machine's authorities. What cannot be read is told and left out.
pub fn of_machine() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "certificates of this machine (or of SSL_CERT_FILE, SSL_CERT_DIR) cannot be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}

/// Reads a PEM file and makes sure that it names at least one authority and nothing that is none. Answers the
/// PEM.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let file = std::fs::File::open(path).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    let mut pem = Vec::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut pem);
    read.map_err(|error| format!("{shown} cannot be read: {error}"))?;
    if pem.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("{shown} is larger than {FILE_BYTES_MAX} bytes"));
    }
    let mut roots = RootCertStore::empty();
    add_pem(&mut roots, &pem).map_err(|why| format!("{shown}: {why}"))?;
    if roots.is_empty() {
        return Err(format!("{shown} contains no certificate in PEM format (-----BEGIN CERTIFICATE-----)"));
    }
    Ok(pem)
}

/// Adds the certificates of a PEM text; what else it holds, such as a key, is passed over.
pub fn add_pem(roots: &mut RootCertStore, pem: &[u8]) -> Result<(), String> {
    for (n, certificate) in CertificateDer::pem_slice_iter(pem).enumerate() {
        if n >= AUTHORITIES_MAX {
            return Err(format!("more than {AUTHORITIES_MAX} certificates"));
        }
        let certificate = certificate.map_err(|_| format!("certificate {} is not valid PEM", n + 1))?;
        roots
            .add(certificate)
            .map_err(|_| format!("certificate {} cannot be a certificate authority's", n + 1))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|why| why.replace(&path.display().to_string(), "FILE"))
    }

    #[test]
    fn a_file_that_names_no_authority_is_told_what_is_wrong_with_it() {
        let good = rcgen::generate_simple_self_signed(["ca.example".to_owned()]).unwrap().cert.pem();
        assert_eq!(read_text(&good).unwrap(), good.as_bytes());
        assert_eq!(read_text(&format!("{good}{good}")).unwrap().len(), 2 * good.len());
        for (text, expected) in [
            (String::new(), "FILE contains no certificate"),
            ("not PEM at all".to_owned(), "FILE contains no certificate"),
            (good.replace("BEGIN CERTIFICATE", "BEGIN PUBLIC KEY"), "FILE"),
            (
                format!("{good}-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n"),
                "certificate 2 is",
            ),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(),
                "certificate 1 cannot",
            ),
            ("x".repeat(1024 * 1024 + 1), "FILE is larger than 1048576 bytes"),
        ] {
            let why = read_text(&text).unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
        let absent = read(Path::new("/nowhere/ca.pem")).unwrap_err();
        assert!(absent.starts_with("/nowhere/ca.pem cannot be read: No such file"), "{absent}");
    }
}

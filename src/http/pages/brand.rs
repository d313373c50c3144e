//! The operator's name and logo, as pages show them, and the icon of every page.
//!
//! The logo is read once at the start, and served from memory under its own address. Only PNG, JPEG and WebP
//! are allowed: an SVG can contain scripts and load from elsewhere. If the file is wrong, the start fails and
//! names the key. The icon is ours, so it may be an SVG. Pages may load pictures from us alone.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, X_CONTENT_TYPE_OPTIONS,
};
use sha2::{Digest, Sha256};
use url::Url;

use crate::config::Pages;
use crate::http::Http;
use crate::http::paths::{ICON, LOGO};
use crate::http::request::context::RequestLabels;
use crate::http::response::error::ApiError;

/// Bytes of a logo: pages must load fast over a slow line.
pub const LOGO_MAX: usize = 64 * 1024;
/// Hexadecimal digits of the file's hash in its address, so that a new logo is not taken for the old one.
const MARK_DIGITS: usize = 12;

/// What browsers show beside a page's title.
const ICON_FILE: &[u8] = include_bytes!("../../../assets/icon.svg");

/// Why the logo cannot be shown.
#[derive(Debug, thiserror::Error)]
#[error("pages.logo_file = {path}: {why}")]
pub struct LogoProblem {
    path: String,
    why: String,
}

struct Logo {
    kind: &'static str,
    bytes: Bytes,
    mark: String,
}

/// What pages show of the operator, and what they therefore may load.
pub struct Brand {
    pub name: Option<String>,
    /// How a customer reaches them.
    pub support: Option<String>,
    /// Who a customer turns to, and how.
    pub contact: String,
    logo: Option<Logo>,
}

impl Brand {
    /// Reads the logo, if there is one.
    pub fn load(pages: &Pages) -> Result<Brand, LogoProblem> {
        let logo = pages.logo_file.as_deref().map(read).transpose()?;
        Ok(Brand { logo, ..Brand::plain(pages) })
    }

    /// Without a logo, for nodes that serve no pages.
    pub fn plain(pages: &Pages) -> Brand {
        Brand {
            name: pages.operator_name.clone(),
            support: pages.support.clone(),
            contact: pages.contact(),
            logo: None,
        }
    }

    pub fn has_logo(&self) -> bool {
        self.logo.is_some()
    }

    /// Where the logo is, below the path under which a proxy publishes us.
    pub(super) fn logo_address(&self, public_url: &str) -> Option<String> {
        let logo = self.logo.as_ref()?;
        Some(format!("{}{LOGO}?v={}", base(public_url), logo.mark))
    }

    /// An address of ours below that path.
    pub(super) fn address_below(&self, public_url: &str, path: &str) -> String {
        format!("{}{path}", base(public_url))
    }

    pub(super) fn icon_address(&self, public_url: &str) -> String {
        format!("{}{ICON}", base(public_url))
    }
}

fn base(public_url: &str) -> String {
    Url::parse(public_url).map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default()
}

fn read(path: &Path) -> Result<Logo, LogoProblem> {
    let problem = |why: String| LogoProblem { path: path.display().to_string(), why };
    let mut bytes = Vec::new();
    let limit = u64::try_from(LOGO_MAX + 1).unwrap_or(u64::MAX);
    File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| problem(format!("the file cannot be read: {error}")))?;
    if bytes.len() > LOGO_MAX {
        return Err(problem(format!("the file is larger than {} KB", LOGO_MAX / 1024)));
    }
    let kind = kind(&bytes).map_err(|why| problem(why.to_owned()))?;
    let mut mark: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    mark.truncate(MARK_DIGITS);
    Ok(Logo { kind, bytes: bytes.into(), mark })
}

/// The type by the first bytes; the file's name does not count.
fn kind(bytes: &[u8]) -> Result<&'static str, &'static str> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Ok("image/png");
    }
    if bytes.starts_with(b"\xff\xd8\xff") {
        return Ok("image/jpeg");
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP".as_slice()) {
        return Ok("image/webp");
    }
    let text = String::from_utf8_lossy(bytes.get(..bytes.len().min(1024)).unwrap_or_default());
    Err(match text.to_ascii_lowercase() {
        text if text.contains("<svg") || text.trim_start().starts_with("<?xml") => {
            "SVG is not accepted, because it can hold scripts: save the logo as PNG, JPEG or WebP"
        }
        _ => "the file is not a PNG, JPEG or WebP image",
    })
}

const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The picture itself, from memory.
pub async fn logo(State(http): State<Arc<Http>>) -> Response {
    let Some(logo) = &http.brand.logo else {
        return axum::response::IntoResponse::into_response(ApiError::unknown_path());
    };
    served(LOGO, logo.kind, logo.bytes.clone())
}

/// The icon, from memory.
pub async fn icon() -> Response {
    served(ICON, "image/svg+xml", Bytes::from_static(ICON_FILE))
}

fn served(route: &'static str, kind: &'static str, bytes: Bytes) -> Response {
    let mut response = Response::new(Body::from(bytes));
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "public, max-age=86400"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (RESOURCE, "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.extensions_mut().insert(RequestLabels { route, business_id: None });
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logo_is_known_by_its_first_bytes() {
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n..."), Ok("image/png"));
        assert_eq!(kind(b"\xff\xd8\xff\xe0..."), Ok("image/jpeg"));
        assert_eq!(kind(b"RIFF\x10\0\0\0WEBPVP8 "), Ok("image/webp"));
        for svg in ["<svg xmlns=''>", "<?xml version='1.0'?><svg>", "<!-- x --><SVG onload=''>"] {
            assert!(kind(svg.as_bytes()).is_err_and(|why| why.starts_with("SVG")), "{svg}");
        }
        for other in ["", "GIF89a", "<html>", "RIFF\u{1}\u{1}\u{1}\u{1}WAVE"] {
            assert!(kind(other.as_bytes()).is_err_and(|why| why.contains("not a PNG")), "{other}");
        }
    }

    #[test]
    fn the_logo_is_below_the_path_of_a_proxy() {
        let file = tempfile::Builder::new().suffix(".png").tempfile().unwrap();
        std::fs::write(file.path(), b"\x89PNG\r\n\x1a\n").unwrap();
        let name = Some("Kudi Basket".to_owned());
        let pages = Pages { operator_name: name, logo_file: Some(file.path().to_owned()), support: None };
        let brand = Brand::load(&pages).unwrap();
        let address = brand.logo_address("https://pay.example.com/tills").unwrap();
        assert!(address.starts_with("/tills/brand/logo?v="), "{address}");
        assert!(brand.logo_address("https://pay.example.com").unwrap().starts_with("/brand/logo?v="));
        assert_eq!(brand.icon_address("https://pay.example.com/tills"), "/tills/brand/icon.svg");
        assert_eq!(Brand::plain(&pages).logo_address("https://pay.example.com"), None);
        std::fs::write(file.path(), vec![0; LOGO_MAX + 1]).unwrap();
        let error = Brand::load(&pages).err().unwrap().to_string();
        assert!(error.contains("pages.logo_file") && error.contains("64 KB"), "{error}");
    }
}

//! What pages load from us: the stylesheet, htmx, our script. From memory, under addresses that hold their hash, so that
//! browsers keep them for good and a new version has a new address.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderValue;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, X_CONTENT_TYPE_OPTIONS,
};
use sha2::{Digest, Sha256};

use crate::http::paths::ASSET;
use crate::http::request::context::RequestLabels;
use crate::http::response::error::ApiError;

/// Hexadecimal digits of a file's hash in its address.
const HASH_DIGITS: usize = 16;

pub struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
    hash: String,
}

impl Asset {
    fn new(name: &'static str, kind: &'static str, bytes: &'static [u8]) -> Asset {
        let mut hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        hash.truncate(HASH_DIGITS);
        Asset { name, kind, bytes, hash }
    }

    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    pub fn address(&self) -> String {
        ASSET.replace("{hash}", &self.hash).replace("{name}", self.name)
    }
}

pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("tillbell.css", "text/css; charset=utf-8", include_bytes!("../../../assets/tillbell.css"))
});
pub static HTMX: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("htmx.min.js", "text/javascript; charset=utf-8", include_bytes!("../../../assets/htmx.min.js"))
});
pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("tillbell.js", "text/javascript; charset=utf-8", include_bytes!("../../../assets/tillbell.js"))
});
/// Of the till alone.
pub static TILL_STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("till.css", "text/css; charset=utf-8", include_bytes!("../../../assets/till.css"))
});
pub static TILL_SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("till.js", "text/javascript; charset=utf-8", include_bytes!("../../../assets/till.js"))
});

pub static CHECKOUT_STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("checkout.css", "text/css; charset=utf-8", include_bytes!("../../../assets/checkout.css"))
});
pub static CHECKOUT_SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let bytes = include_bytes!("../../../assets/checkout.js");
    Asset::new("checkout.js", "text/javascript; charset=utf-8", bytes)
});

pub static DOCS_STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("docs.css", "text/css; charset=utf-8", include_bytes!("../../../assets/docs.css"))
});
pub static DOCS_SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("docs.js", "text/javascript; charset=utf-8", include_bytes!("../../../assets/docs.js"))
});

const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// `/assets/{hash}/{name}`. Another version's hash is unknown here: its bytes would be kept under a wrong name.
pub async fn handle(Path((hash, name)): Path<(String, String)>) -> Response {
    let all = [
        &*STYLE,
        &*HTMX,
        &*SCRIPT,
        &*TILL_STYLE,
        &*TILL_SCRIPT,
        &*CHECKOUT_STYLE,
        &*CHECKOUT_SCRIPT,
        &*DOCS_STYLE,
        &*DOCS_SCRIPT,
    ];
    let known = all.into_iter().find(|asset| asset.name == name && asset.hash == hash);
    let mut response = match known {
        Some(asset) => file(asset),
        None => ApiError::unknown_path().into_response(),
    };
    response.extensions_mut().insert(RequestLabels { route: ASSET, business_id: None });
    response
}

fn file(asset: &Asset) -> Response {
    let mut response = Response::new(Body::from(Bytes::from_static(asset.bytes)));
    for (name, value) in [
        (CONTENT_TYPE, asset.kind),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
        (RESOURCE, "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of what a first view loads besides its HTML; of 150 KB, 70 are left for that.
    const ALL_MAX: usize = 84 * 1024;
    const DOCS_MAX: usize = 10 * 1024;
    const STYLE_MAX: usize = 24 * 1024;

    #[test]
    fn htmx_is_the_pinned_file() {
        let text = std::str::from_utf8(HTMX.bytes).unwrap();
        assert!(text.contains("version:\"2.0.11\""));
        let hash: String = Sha256::digest(HTMX.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717");
    }

    #[test]
    fn what_a_page_loads_is_small() {
        assert!(STYLE.bytes.len() < STYLE_MAX, "{}", STYLE.bytes.len());
        let all = STYLE.bytes.len() + HTMX.bytes.len() + SCRIPT.bytes.len();
        assert!(all < ALL_MAX, "{all}");
        // The till asks for no htmx.
        let till = TILL_STYLE.bytes.len() + TILL_SCRIPT.bytes.len();
        assert!(till < HTMX.bytes.len(), "{till}");
        let of_docs = DOCS_STYLE.bytes.len() + DOCS_SCRIPT.bytes.len();
        assert!(of_docs < DOCS_MAX, "{of_docs}");
    }

    #[test]
    fn an_address_holds_the_hash() {
        let address = STYLE.address();
        let parts: Vec<&str> = address.split('/').collect();
        assert!(
            matches!(parts[..], ["", "assets", hash, "tillbell.css"] if hash.len() == HASH_DIGITS),
            "{address}"
        );
    }
}

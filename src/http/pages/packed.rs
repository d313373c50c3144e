//! Pages and what they load go out compressed to browsers that take it: people open them on phones and pay for each
//! megabyte.
//!
//! Answers to forms do not, nor what payers see, which is small: the length of what is compressed tells something of what
//! is in it, and those pages hold secrets that stay the same.

use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{And, NotForContentType, Predicate, SizeAbove};

/// Below this it is one packet anyhow.
const PACKED_FROM: u64 = 1024;

/// Compresses what is asked for with GET, but for streams of events, which must come at once.
pub fn packed() -> CompressionLayer<And<SizeAbove, NotForContentType>> {
    let what = SizeAbove::new(PACKED_FROM).and(NotForContentType::SSE);
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(what)
}

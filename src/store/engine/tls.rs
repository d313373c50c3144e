//! TLS towards PostgreSQL, with the machine's own certificate store.
//!
//! `sslmode` in the URL decides whether it is used: `disable`, `prefer` (the default) or
//! `require`. A private authority belongs into the machine's store, or into `SSL_CERT_FILE`.

use std::sync::{Arc, OnceLock};

use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::StoreError;

static CONFIG: OnceLock<Arc<rustls::ClientConfig>> = OnceLock::new();

pub(in crate::store) fn connector() -> Result<MakeRustlsConnect, StoreError> {
    let config = match CONFIG.get() {
        Some(config) => config.clone(),
        None => CONFIG.get_or_init(|| Arc::new(build())).clone(),
    };
    Ok(MakeRustlsConnect::new((*config).clone()))
}

fn build() -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "a certificate of the machine's store cannot be read");
    }
    let _ = roots.add_parsable_certificates(found.certs);
    rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()
}

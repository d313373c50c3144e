//! The templates and tables that the binary carries, as text. A new bank needs one line here.

/// File name and text of every template.
pub const TEMPLATES: &[(&str, &str)] = &[
    ("banks/gtbank.toml", include_str!("../../../banks/gtbank.toml")),
    ("banks/access.toml", include_str!("../../../banks/access.toml")),
    ("banks/zenith.toml", include_str!("../../../banks/zenith.toml")),
    ("banks/uba.toml", include_str!("../../../banks/uba.toml")),
    ("banks/firstbank.toml", include_str!("../../../banks/firstbank.toml")),
    ("banks/fidelity.toml", include_str!("../../../banks/fidelity.toml")),
    ("banks/wema.toml", include_str!("../../../banks/wema.toml")),
    ("banks/union.toml", include_str!("../../../banks/union.toml")),
    ("banks/stanbic.toml", include_str!("../../../banks/stanbic.toml")),
    ("banks/sterling.toml", include_str!("../../../banks/sterling.toml")),
    ("banks/moniepoint.toml", include_str!("../../../banks/moniepoint.toml")),
    ("banks/opay.toml", include_str!("../../../banks/opay.toml")),
    ("banks/kuda.toml", include_str!("../../../banks/kuda.toml")),
    ("banks/providus.toml", include_str!("../../../banks/providus.toml")),
    ("banks/quickmfb.toml", include_str!("../../../banks/quickmfb.toml")),
    ("banks/stanchart.toml", include_str!("../../../banks/stanchart.toml")),
    ("banks/ecobank.toml", include_str!("../../../banks/ecobank.toml")),
    ("banks/polaris.toml", include_str!("../../../banks/polaris.toml")),
    ("banks/fcmb.toml", include_str!("../../../banks/fcmb.toml")),
    ("banks/premiumtrust.toml", include_str!("../../../banks/premiumtrust.toml")),
    ("banks/lotus.toml", include_str!("../../../banks/lotus.toml")),
    ("banks/grey.toml", include_str!("../../../banks/grey.toml")),
    ("banks/testbank.toml", include_str!("../../../banks/testbank.toml")),
];

/// Institutions of the interbank network.
pub const NIP_CODES: &str = include_str!("../../../data/nip_codes.toml");

/// Words that hold for every bank.
pub const NARRATION: &str = include_str!("../../../data/narration.toml");

/// Whether the program carries this text, so that its tests have read it.
pub fn carries(text: &str) -> bool {
    text == NARRATION || TEMPLATES.iter().any(|(_, carried)| *carried == text)
}

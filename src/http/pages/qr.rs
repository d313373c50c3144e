//! A QR code as an SVG inside the page: black on white in both themes, because cameras want it so.

use qrcode::{Color, EcLevel, QrCode};

/// Modules of white around it, as the standard wants.
const QUIET: usize = 4;

/// A code as one path of squares.
pub struct Qr {
    /// Modules of a side, with the white around.
    pub side: usize,
    pub path: String,
}

/// `None` if the text is too long for one.
pub fn code_of(text: &str) -> Option<Qr> {
    let code = QrCode::with_error_correction_level(text.as_bytes(), EcLevel::M).ok()?;
    let width = code.width();
    let mut path = String::with_capacity(width * width * 6);
    for (at, color) in code.to_colors().into_iter().enumerate() {
        if color == Color::Dark {
            let (x, y) = (at % width + QUIET, at / width + QUIET);
            path.push_str(&format!("M{x} {y}h1v1h-1z"));
        }
    }
    Some(Qr { side: width + 2 * QUIET, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_its_three_eyes_and_a_quiet_zone() {
        let qr = code_of("otpauth://totp/x").unwrap();
        assert_eq!((qr.side - 2 * QUIET) % 4, 1);
        let far = qr.side - QUIET - 1;
        for (x, y) in [(QUIET, QUIET), (far, QUIET), (QUIET, far)] {
            assert!(qr.path.contains(&format!("M{x} {y}h1")), "{x} {y}");
        }
        assert!(!qr.path.contains("M3 "), "the quiet zone is white");
        assert!(code_of(&"x".repeat(5_000)).is_none());
    }
}

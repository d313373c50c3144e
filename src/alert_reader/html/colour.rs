//! Colours as mails write them: names, `#rgb` to `#rrggbbaa`, `rgb()`, `rgba()`, `hsl()`, `hsla()`.
//!
//! Exact enough to tell whether text can be seen on its background, not to paint. Only `style`
//! calls it. Names and digits are read by `cssparser`.

use cssparser::color::{parse_hash_color, parse_named_color};

/// Red, green, blue, and how much of it covers what is below: 0 is transparent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour {
    pub rgb: [u8; 3],
    pub alpha: f32,
}

/// Colours nearer than this in every channel cannot be told apart.
const SAME_COLOUR: i32 = 24;
/// Covers nothing that a reader would see.
const TRANSPARENT: f32 = 0.1;

pub const WHITE: Colour = Colour { rgb: [255; 3], alpha: 1.0 };
pub const BLACK: Colour = Colour { rgb: [0; 3], alpha: 1.0 };

impl Colour {
    pub fn is_transparent(self) -> bool {
        self.alpha <= TRANSPARENT
    }

    /// Whether letters of this colour drown in the background.
    pub fn drowns_in(self, background: Colour) -> bool {
        let mix = |i: usize| {
            let (over, under) = (f32::from(self.rgb[i]), f32::from(background.rgb[i]));
            over * self.alpha + under * (1.0 - self.alpha)
        };
        self.is_transparent()
            || (0..3).all(|i| (mix(i) - f32::from(background.rgb[i])).abs() <= SAME_COLOUR as f32)
    }
}

/// A colour, or `None` where the text is none. Lower case is expected.
pub fn parse(text: &str) -> Option<Colour> {
    let text = text.trim();
    if text == "transparent" {
        return Some(Colour { rgb: [0; 3], alpha: 0.0 });
    }
    if let Ok((r, g, b)) = parse_named_color(text) {
        return Some(Colour { rgb: [r, g, b], alpha: 1.0 });
    }
    if let Some((function, rest)) = text.split_once('(') {
        let list = rest.strip_suffix(')')?;
        let parts: Vec<&str> = list.split([',', ' ', '/']).filter(|p| !p.is_empty()).collect();
        let [a, b, c, more @ ..] = &parts[..] else { return None };
        let alpha = more.first().map_or(Some(1.0), |a| share(a, 1.0))?;
        let rgb = match function.trim() {
            "rgb" | "rgba" => [channel(a)?, channel(b)?, channel(c)?],
            "hsl" | "hsla" => from_hsl(degrees(a)?, share(b, 100.0)?, share(c, 100.0)?),
            _ => return None,
        };
        return Some(Colour { rgb, alpha });
    }
    let (r, g, b, alpha) = parse_hash_color(text.strip_prefix('#').unwrap_or(text).as_bytes()).ok()?;
    Some(Colour { rgb: [r, g, b], alpha })
}

/// `255` or `100%`.
fn channel(text: &str) -> Option<u8> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f32>().ok()? * 2.55,
        None => text.parse::<f32>().ok()?,
    };
    // In range after the clamp, so nothing is lost.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let value = value.clamp(0.0, 255.0).round() as u8;
    Some(value)
}

/// A part of one: `0.5`, `50%`; `whole` is what a number without a sign is measured by.
fn share(text: &str, whole: f32) -> Option<f32> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f32>().ok()? / 100.0,
        None => text.parse::<f32>().ok()? / whole,
    };
    Some(value.clamp(0.0, 1.0))
}

fn degrees(text: &str) -> Option<f32> {
    Some(text.strip_suffix("deg").unwrap_or(text).parse::<f32>().ok()?.rem_euclid(360.0))
}

fn from_hsl(hue: f32, saturation: f32, light: f32) -> [u8; 3] {
    let channel = |n: f32| {
        let k = (n + hue / 30.0).rem_euclid(12.0);
        let part = light - saturation * light.min(1.0 - light) * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let value = (part.clamp(0.0, 1.0) * 255.0).round() as u8;
        value
    };
    [channel(0.0), channel(8.0), channel(4.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation_of_white_is_white() {
        for text in [
            "white",
            "#fff",
            "#ffff",
            "#ffffff",
            "#ffffffff",
            "ffffff",
            "rgb(255,255,255)",
            "rgb(100%, 100%, 100%)",
            "rgba(255, 255, 255, 1)",
            "rgb(255 255 255 / 100%)",
            "hsl(0,0%,100%)",
            "hsla(120deg 50% 100% / 1)",
        ] {
            assert!(parse(text).is_some_and(|c| c.drowns_in(WHITE)), "{text}");
        }
        for text in ["", "url(x.png)", "none", "12", "#12345", "rgb(1,2)", "inherit", "rgb(", "hsl(a,b,c)"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_can_be_seen_does_not_drown() {
        for (letters, ground, drowns) in [
            ("#003366", "white", false),
            ("gray", "white", false),
            ("#fafafa", "#ffffff", true),
            ("black", "#0a0a0a", true),
            ("rgba(0,0,0,0.05)", "white", true),
            ("#0000", "white", true),
            ("hsl(240, 100%, 50%)", "blue", true),
            ("yellow", "#ffff00", true),
            ("red", "blue", false),
        ] {
            let drowned = parse(letters).unwrap().drowns_in(parse(ground).unwrap());
            assert_eq!(drowned, drowns, "{letters} on {ground}");
        }
    }
}

//! Colours as mails write them: names, `#rgb` to `#rrggbbaa`, `rgb()`, `rgba()`, `hsl()`, `hsla()`.
//!
//! Exact enough to tell whether text can be seen on its background, not to paint. Only `style`
//! calls it.

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
    let solid = |rgb: [u8; 3]| Some(Colour { rgb, alpha: 1.0 });
    if text == "transparent" {
        return Some(Colour { rgb: [0; 3], alpha: 0.0 });
    }
    if let Some((_, rgb)) = NAMED.iter().find(|(name, _)| *name == text) {
        let [_, r, g, b] = rgb.to_be_bytes();
        return solid([r, g, b]);
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
    from_hex(text.strip_prefix('#').unwrap_or(text))
}

fn from_hex(hex: &str) -> Option<Colour> {
    if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let digit = |i: usize| u8::from_str_radix(hex.get(i..=i)?, 16).ok().map(|n| n * 17);
    let pair = |i: usize| u8::from_str_radix(hex.get(i..i + 2)?, 16).ok();
    match hex.len() {
        3 | 4 => {
            let alpha = if hex.len() == 4 { digit(3)? } else { 255 };
            Some(Colour { rgb: [digit(0)?, digit(1)?, digit(2)?], alpha: f32::from(alpha) / 255.0 })
        }
        6 | 8 => {
            let alpha = if hex.len() == 8 { pair(6)? } else { 255 };
            Some(Colour { rgb: [pair(0)?, pair(2)?, pair(4)?], alpha: f32::from(alpha) / 255.0 })
        }
        _ => None,
    }
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

/// The named colours of CSS, as `0xrrggbb`.
#[rustfmt::skip]
const NAMED: [(&str, u32); 148] = [
    ("aliceblue", 0xf0f8ff), ("antiquewhite", 0xfaebd7), ("aqua", 0x00ffff), ("aquamarine", 0x7fffd4),
    ("azure", 0xf0ffff), ("beige", 0xf5f5dc), ("bisque", 0xffe4c4), ("black", 0x000000),
    ("blanchedalmond", 0xffebcd), ("blue", 0x0000ff), ("blueviolet", 0x8a2be2), ("brown", 0xa52a2a),
    ("burlywood", 0xdeb887), ("cadetblue", 0x5f9ea0), ("chartreuse", 0x7fff00), ("chocolate", 0xd2691e),
    ("coral", 0xff7f50), ("cornflowerblue", 0x6495ed), ("cornsilk", 0xfff8dc), ("crimson", 0xdc143c),
    ("cyan", 0x00ffff), ("darkblue", 0x00008b), ("darkcyan", 0x008b8b), ("darkgoldenrod", 0xb8860b),
    ("darkgray", 0xa9a9a9), ("darkgreen", 0x006400), ("darkgrey", 0xa9a9a9), ("darkkhaki", 0xbdb76b),
    ("darkmagenta", 0x8b008b), ("darkolivegreen", 0x556b2f), ("darkorange", 0xff8c00),
    ("darkorchid", 0x9932cc), ("darkred", 0x8b0000), ("darksalmon", 0xe9967a), ("darkseagreen", 0x8fbc8f),
    ("darkslateblue", 0x483d8b), ("darkslategray", 0x2f4f4f), ("darkslategrey", 0x2f4f4f),
    ("darkturquoise", 0x00ced1), ("darkviolet", 0x9400d3), ("deeppink", 0xff1493), ("deepskyblue", 0x00bfff),
    ("dimgray", 0x696969), ("dimgrey", 0x696969), ("dodgerblue", 0x1e90ff), ("firebrick", 0xb22222),
    ("floralwhite", 0xfffaf0), ("forestgreen", 0x228b22), ("fuchsia", 0xff00ff), ("gainsboro", 0xdcdcdc),
    ("ghostwhite", 0xf8f8ff), ("gold", 0xffd700), ("goldenrod", 0xdaa520), ("gray", 0x808080),
    ("green", 0x008000), ("greenyellow", 0xadff2f), ("grey", 0x808080), ("honeydew", 0xf0fff0),
    ("hotpink", 0xff69b4), ("indianred", 0xcd5c5c), ("indigo", 0x4b0082), ("ivory", 0xfffff0),
    ("khaki", 0xf0e68c), ("lavender", 0xe6e6fa), ("lavenderblush", 0xfff0f5), ("lawngreen", 0x7cfc00),
    ("lemonchiffon", 0xfffacd), ("lightblue", 0xadd8e6), ("lightcoral", 0xf08080), ("lightcyan", 0xe0ffff),
    ("lightgoldenrodyellow", 0xfafad2), ("lightgray", 0xd3d3d3), ("lightgreen", 0x90ee90),
    ("lightgrey", 0xd3d3d3), ("lightpink", 0xffb6c1), ("lightsalmon", 0xffa07a), ("lightseagreen", 0x20b2aa),
    ("lightskyblue", 0x87cefa), ("lightslategray", 0x778899), ("lightslategrey", 0x778899),
    ("lightsteelblue", 0xb0c4de), ("lightyellow", 0xffffe0), ("lime", 0x00ff00), ("limegreen", 0x32cd32),
    ("linen", 0xfaf0e6), ("magenta", 0xff00ff), ("maroon", 0x800000), ("mediumaquamarine", 0x66cdaa),
    ("mediumblue", 0x0000cd), ("mediumorchid", 0xba55d3), ("mediumpurple", 0x9370db),
    ("mediumseagreen", 0x3cb371), ("mediumslateblue", 0x7b68ee), ("mediumspringgreen", 0x00fa9a),
    ("mediumturquoise", 0x48d1cc), ("mediumvioletred", 0xc71585), ("midnightblue", 0x191970),
    ("mintcream", 0xf5fffa), ("mistyrose", 0xffe4e1), ("moccasin", 0xffe4b5), ("navajowhite", 0xffdead),
    ("navy", 0x000080), ("oldlace", 0xfdf5e6), ("olive", 0x808000), ("olivedrab", 0x6b8e23),
    ("orange", 0xffa500), ("orangered", 0xff4500), ("orchid", 0xda70d6), ("palegoldenrod", 0xeee8aa),
    ("palegreen", 0x98fb98), ("paleturquoise", 0xafeeee), ("palevioletred", 0xdb7093),
    ("papayawhip", 0xffefd5), ("peachpuff", 0xffdab9), ("peru", 0xcd853f), ("pink", 0xffc0cb),
    ("plum", 0xdda0dd), ("powderblue", 0xb0e0e6), ("purple", 0x800080), ("rebeccapurple", 0x663399),
    ("red", 0xff0000), ("rosybrown", 0xbc8f8f), ("royalblue", 0x4169e1), ("saddlebrown", 0x8b4513),
    ("salmon", 0xfa8072), ("sandybrown", 0xf4a460), ("seagreen", 0x2e8b57), ("seashell", 0xfff5ee),
    ("sienna", 0xa0522d), ("silver", 0xc0c0c0), ("skyblue", 0x87ceeb), ("slateblue", 0x6a5acd),
    ("slategray", 0x708090), ("slategrey", 0x708090), ("snow", 0xfffafa), ("springgreen", 0x00ff7f),
    ("steelblue", 0x4682b4), ("tan", 0xd2b48c), ("teal", 0x008080), ("thistle", 0xd8bfd8),
    ("tomato", 0xff6347), ("turquoise", 0x40e0d0), ("violet", 0xee82ee), ("wheat", 0xf5deb3),
    ("white", 0xffffff), ("whitesmoke", 0xf5f5f5), ("yellow", 0xffff00), ("yellowgreen", 0x9acd32),
];

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

//! A text as one part of a path: ids of payments are of merchants' making, and anything may be in them.

/// An id as one part of a path, whatever is in it.
pub fn segment(id: &str) -> String {
    let mut written = String::with_capacity(id.len());
    for byte in id.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~');
        // What the router would take for a page of its own, and what browsers take for a way up.
        let is_name = id != "new" && (is_plain || byte == b'.' && !id.starts_with('.'));
        match is_name {
            true => written.push(char::from(byte)),
            false => written.push_str(&format!("%{byte:02X}")),
        }
    }
    written
}

/// What [`segment`] wrote; `None` if it holds no text.
pub fn of_segment(segment: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(segment.len()), segment.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    // A database takes no NUL.
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_part_of_a_path() {
        for id in [
            "TXN-01",
            "a/b?c=1#d",
            "new",
            ".",
            "..",
            "ọ rder 7",
            "100%",
            "%41",
            "a+b.c",
            "",
            "50%/x?y#z",
            "ọ&=;",
        ] {
            let written = segment(id);
            assert!(written.is_ascii() && !written.contains(['/', '?', '#', ' ', '&']), "{written}");
            assert!(written != "new" && !written.starts_with('.'), "{written}");
            assert_eq!(of_segment(&written).as_deref(), Some(id));
        }
        assert_eq!(of_segment("%00"), None);
        assert_eq!(of_segment("%ff"), None);
        assert_eq!(of_segment("%zz%4").as_deref(), Some("%zz%4"));
    }
}

//! Parts that are not what their headers say.

use crate::alert_reader::mime::open;

fn doubts(headers: &str) -> Vec<String> {
    let mail = format!("From: a@b.example\r\nSubject: s\r\n{headers}\r\n\r\nAmount : NGN 5,000.00\r\n");
    let letter = open(mail.as_bytes()).unwrap();
    assert_eq!(letter.undecoded, !letter.doubts.is_empty(), "{headers}: {:?}", letter.doubts);
    letter.doubts
}

#[test]
fn what_is_not_known_is_a_doubt() {
    for charset in [
        "nope-99",
        "ebcdic-cp-us",
        "\"utf-8",
        "utf-32",
        "",
        "\"\"",
        "utf-8; charset=ebcdic-cp-us",
        "x-unknown",
        "utf-7",
        "utf-16",
        "hz-gb-2312",
        "unicode-1-1-utf-7",
        "csUTF7",
        "ISO-2022-JP",
    ] {
        let told = doubts(&format!("Content-Type: text/plain; charset={charset}"));
        assert!(!told.is_empty(), "{charset}");
        let told = doubts(&format!("Content-Type: text/plain; charset={charset}; format=flowed"));
        assert!(!told.is_empty(), "{charset}");
    }
    for encoding in ["x-uuencode", "", "base65", "7bit\r\nContent-Transfer-Encoding: x-uuencode"] {
        let told = doubts(&format!("Content-Transfer-Encoding: {encoding}"));
        assert!(!told.is_empty(), "{encoding}");
    }
    let inside = "--q\r\nContent-Type: text/plain; charset=nope\r\n\r\nAmount : NGN 5\r\n--q--";
    assert!(!doubts(&format!("Content-Type: multipart/mixed; boundary=q\r\n\r\n{inside}")).is_empty());
    let around = "--q\r\nContent-Type: text/plain\r\n\r\nAmount : NGN 5\r\n--q--";
    let odd = "Content-Type: multipart/mixed; boundary=q\r\nContent-Transfer-Encoding: x-uuencode";
    assert!(!doubts(&format!("{odd}\r\n\r\n{around}")).is_empty());
}

#[test]
fn words_of_a_subject_are_told_apart_by_their_ends() {
    for subject in [
        "=?UTF-8?B?Q3JlZGl0?=",
        "=?UTF-8?B?Q3JlZGl0IGE=?=",
        "=?utf-8?B?Q3JlZGl0IA==?= =?utf-8*en?b?YQ==?=",
        "=?utf-8?B?Q3JlZGl0IA==?==?utf-8?Q?a=3D?=",
        "=?utf-8?Q?Credit_=E2=82=A65?=",
        "Credit",
    ] {
        assert_eq!(crate::alert_reader::charset::subject_doubt(subject), None, "{subject}");
    }
    for subject in [
        "=?utf-7?B?Q3JlZGl0IGE=?=",
        "=?utf-8?B?Q3JlZGl0IA==?= =?utf-7?B?YQ==?=",
        "=?utf-8?B?Q3JlZGl0IA==?==?utf-16?B?YQ==?=",
        "=?utf-8?B?Q3JlZGl0 =?utf-7?B?YQ==?=",
        "=?nope",
        "=?",
    ] {
        assert!(crate::alert_reader::charset::subject_doubt(subject).is_some(), "{subject}");
    }
}

#[test]
fn what_mail_programs_write_is_none() {
    for charset in [
        "utf-8",
        "UTF8",
        "\"UTF-8\"",
        "us-ascii",
        "iso-8859-1",
        "ISO-8859-15",
        "windows-1252",
        "Windows-1252",
        "latin1",
        "cp1252",
        "\"utf-8\"; format=flowed; delsp=yes",
    ] {
        let told = doubts(&format!("Content-Type: text/plain; charset={charset}"));
        assert!(told.is_empty(), "{charset}: {told:?}");
    }
    for encoding in ["7bit", "8BIT", "Binary", " quoted-printable "] {
        let told = doubts(&format!("Content-Type: text/plain\r\nContent-Transfer-Encoding: {encoding}"));
        assert!(told.is_empty(), "{encoding}: {told:?}");
    }
}

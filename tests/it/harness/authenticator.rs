//! An authenticator of the tests' own: makes one passkey and answers with it, as WebAuthn says, or as it should not.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const HAS_KEY: u8 = 0x40;

pub struct Authenticator {
    key: EcdsaKeyPair,
    /// What it calls its passkey.
    pub id: Vec<u8>,
    /// The user, as it was told.
    pub handle: Vec<u8>,
    /// How often it has signed. At 0 it never counts.
    pub counter: u32,
    /// Where the browser says that it is.
    pub origin: String,
    /// Whether it makes sure who holds it.
    pub verifies: bool,
}

impl Authenticator {
    pub fn new(origin: &str, id: &[u8]) -> Authenticator {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap();
        Authenticator {
            key,
            id: id.to_vec(),
            handle: Vec::new(),
            counter: 1,
            origin: origin.to_owned(),
            verifies: true,
        }
    }

    /// Answers the question for a new passkey.
    pub fn make(&mut self, asked: &Value) -> String {
        let asked = &asked["publicKey"];
        self.handle = URL_SAFE_NO_PAD.decode(asked["user"]["id"].as_str().unwrap()).unwrap();
        let mut data = self.data(asked["rp"]["id"].as_str().unwrap(), HAS_KEY);
        data.extend([0; 16]);
        data.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
        data.extend(&self.id);
        let point = self.key.public_key().as_ref();
        // A map: an elliptic curve key, ES256, on P-256, with its two coordinates.
        data.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
        data.extend(&point[1..33]);
        data.extend([0x22, 0x58, 0x20]);
        data.extend(&point[33..65]);
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59".to_vec();
        object.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        object.extend(data);
        self.written(json!({
            "clientDataJSON": encoded(&self.told("webauthn.create", asked)),
            "attestationObject": encoded(&object),
        }))
    }

    /// Answers the question for a passkey.
    pub fn answer(&mut self, asked: &Value) -> String {
        if self.counter > 0 {
            self.counter += 1;
        }
        self.answer_again(asked)
    }

    /// The same, without counting.
    pub fn answer_again(&self, asked: &Value) -> String {
        let asked = &asked["publicKey"];
        let (data, told) = (self.data(asked["rpId"].as_str().unwrap(), 0), self.told("webauthn.get", asked));
        let signed = [data.as_slice(), digest(&SHA256, &told).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        self.written(json!({
            "clientDataJSON": encoded(&told),
            "authenticatorData": encoded(&data),
            "signature": encoded(signature.as_ref()),
            "userHandle": encoded(&self.handle),
        }))
    }

    fn data(&self, party: &str, flags: u8) -> Vec<u8> {
        let mut data = digest(&SHA256, party.as_bytes()).as_ref().to_vec();
        data.push(PRESENT | flags | if self.verifies { VERIFIED } else { 0 });
        data.extend(self.counter.to_be_bytes());
        data
    }

    fn told(&self, act: &str, asked: &Value) -> Vec<u8> {
        let told = json!({
            "type": act, "challenge": asked["challenge"], "origin": self.origin, "crossOrigin": false,
        });
        told.to_string().into_bytes()
    }

    fn written(&self, response: Value) -> String {
        let id = encoded(&self.id);
        json!({ "id": id, "rawId": id, "type": "public-key", "response": response }).to_string()
    }
}

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

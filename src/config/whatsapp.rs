//! The choice of a messenger and the `[whatsapp]` part of the configuration: where the Cloud API is,
//! under which number messages go out, by which templates, and what proves the API's own calls.
//!
//! Checked like every other part: each mistake names its key, and no message shows a secret. How the
//! API is spoken to is `outbound::whatsapp`'s to know. Called by `config` alone.

use secrecy::SecretString;
use serde::Deserialize;
use url::Host;

use super::{ConfigError, wrong};
use crate::domain::weburl::{TargetUrl, parse_operator_url};

/// Meta's own address.
const BASE_URL: &str = "https://graph.facebook.com";
/// The version this adapter was written against.
const API_VERSION: &str = "v25.0";
/// Digits of an id of a phone number; those seen have 15.
const ID_DIGITS: std::ops::RangeInclusive<usize> = 5..=32;
/// Characters of a template's name, as the API limits it.
const NAME_MAX: usize = 512;

/// How messages go to customers.
#[derive(Clone, Debug)]
pub enum MessengerChoice {
    /// Nobody gets them; in dev mode they are printed.
    Log,
    WhatsApp(Box<WhatsApp>),
}

impl MessengerChoice {
    pub fn as_str(&self) -> &'static str {
        match self {
            MessengerChoice::Log => "log",
            MessengerChoice::WhatsApp(_) => "whatsapp",
        }
    }

    pub fn whatsapp(&self) -> Option<&WhatsApp> {
        match self {
            MessengerChoice::Log => None,
            MessengerChoice::WhatsApp(whatsapp) => Some(whatsapp),
        }
    }
}

#[derive(Clone, Debug)]
pub struct WhatsApp {
    /// Without a slash at its end.
    pub base_url: String,
    pub api_version: String,
    /// The id Meta gave the number, not the number.
    pub phone_number_id: String,
    pub token: SecretString,
    /// Of all templates, such as `en`.
    pub language: String,
    pub templates: Templates,
    /// What proves calls of the delivery webhook; `None`: there is none.
    pub webhook: Option<WebhookSecrets>,
}

impl WhatsApp {
    /// Where messages are posted to.
    pub fn messages_url(&self) -> Result<TargetUrl, ConfigError> {
        self.url_of_number("/messages")
    }

    /// What the API says of the number.
    pub fn number_url(&self) -> Result<TargetUrl, ConfigError> {
        self.url_of_number("")
    }

    fn url_of_number(&self, rest: &str) -> Result<TargetUrl, ConfigError> {
        let url = format!("{}/{}/{}{rest}", self.base_url, self.api_version, self.phone_number_id);
        parse_operator_url(&url).map_err(|problem| {
            ConfigError(format!(
                "whatsapp.base_url = {:?}: the address {url} {}",
                self.base_url,
                problem.reason()
            ))
        })
    }
}

/// Names of the templates by which customers are written to who have not written to us; `None`: what
/// has no template is not sent to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Templates {
    pub link: String,
    pub code: Option<String>,
    pub receipt: Option<String>,
    pub pin_changed: Option<String>,
    pub topup: Option<String>,
    pub refund: Option<String>,
    /// For payments that wrong PINs stopped, and wallets that they locked.
    pub wrong_pins: Option<String>,
    /// For money that was not added to a wallet, or was taken out of it again.
    pub topup_problem: Option<String>,
    /// For merchants' own texts; only if the operator wants it.
    pub merchant: Option<String>,
}

#[derive(Clone, Debug)]
pub struct WebhookSecrets {
    pub app_secret: SecretString,
    pub verify_token: SecretString,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default, expecting = "a section")]
pub(super) struct RawWhatsApp {
    base_url: Option<String>,
    api_version: Option<String>,
    phone_number_id: Option<Word>,
    token: Option<Word>,
    language: Option<String>,
    template: Option<String>,
    code_template: Option<String>,
    receipt_template: Option<String>,
    pin_changed_template: Option<String>,
    topup_template: Option<String>,
    refund_template: Option<String>,
    wrong_pins_template: Option<String>,
    topup_problem_template: Option<String>,
    merchant_template: Option<String>,
    app_secret: Option<Word>,
    verify_token: Option<Word>,
}

/// A text that may look like a number, as an environment variable of digits does.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word {
    Number(i64),
    Text(String),
}

impl Word {
    fn text(self) -> String {
        match self {
            Word::Number(number) => number.to_string(),
            Word::Text(text) => text,
        }
    }
}

/// `given` is the key `messenger`; `dev` lets the API be spoken to over plain HTTP.
pub(super) fn messenger(
    given: Option<String>,
    raw: Option<RawWhatsApp>,
    dev: bool,
) -> Result<MessengerChoice, ConfigError> {
    match given.as_deref() {
        // Whoever wrote the section down wants it used, and would wait for messages in vain.
        None if raw.is_some() => Err(ConfigError(
            "whatsapp is configured but not used: set messenger = \"whatsapp\", or messenger = \"log\" to leave it \
             unused"
                .into(),
        )),
        None | Some("log") => Ok(MessengerChoice::Log),
        Some("whatsapp") => {
            Ok(MessengerChoice::WhatsApp(Box::new(raw.unwrap_or_default().check(dev)?)))
        }
        Some(other) => Err(wrong("messenger", other, "log or whatsapp")),
    }
}

impl RawWhatsApp {
    fn check(self, dev: bool) -> Result<WhatsApp, ConfigError> {
        let phone_number_id = required("phone_number_id", self.phone_number_id.map(Word::text))?;
        if !ID_DIGITS.contains(&phone_number_id.len()) || !phone_number_id.bytes().all(|b| b.is_ascii_digit())
        {
            return Err(wrong(
                "whatsapp.phone_number_id",
                &phone_number_id,
                "the id of a phone number (digits, as the app's API set-up page shows it; not the number itself)",
            ));
        }
        let token = secret("token", required("token", self.token.map(Word::text))?)?;
        let link = required("template", self.template)?;
        let language = self.language.unwrap_or_else(|| "en".into());
        if language.is_empty() || !language.chars().all(|c| c.is_ascii_alphabetic() || c == '_') {
            return Err(wrong("whatsapp.language", &language, "the code of a language such as en or en_US"));
        }
        let api_version = self.api_version.unwrap_or_else(|| API_VERSION.into());
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
        if !api_version.starts_with('v') || !api_version.chars().all(plain) {
            return Err(wrong("whatsapp.api_version", &api_version, "a version such as v25.0"));
        }
        let named = |key: &str, given: Option<String>, default: &str| {
            let name = given.unwrap_or_else(|| default.into());
            if name == "none" { Ok(None) } else { template(key, name).map(Some) }
        };
        let whatsapp = WhatsApp {
            base_url: base_url(self.base_url.as_deref().unwrap_or(BASE_URL), dev)?,
            api_version,
            phone_number_id,
            token,
            language,
            templates: Templates {
                link: template("template", link)?,
                code: named("code_template", self.code_template, "tillbell_code")?,
                receipt: named("receipt_template", self.receipt_template, "tillbell_receipt")?,
                pin_changed: named(
                    "pin_changed_template",
                    self.pin_changed_template,
                    "tillbell_pin_changed",
                )?,
                topup: named("topup_template", self.topup_template, "tillbell_topup")?,
                refund: named("refund_template", self.refund_template, "tillbell_refund")?,
                wrong_pins: named("wrong_pins_template", self.wrong_pins_template, "tillbell_wrong_pins")?,
                topup_problem: named(
                    "topup_problem_template",
                    self.topup_problem_template,
                    "tillbell_topup_problem",
                )?,
                merchant: named("merchant_template", self.merchant_template, "none")?,
            },
            webhook: webhook(self.app_secret, self.verify_token)?,
        };
        whatsapp.messages_url()?;
        Ok(whatsapp)
    }
}

fn required(key: &str, given: Option<String>) -> Result<String, ConfigError> {
    given.filter(|text| !text.is_empty()).ok_or_else(|| {
        ConfigError(format!(
            "messenger = \"whatsapp\" needs whatsapp.{key}; docs/whatsapp.md says where to find it"
        ))
    })
}

/// What goes into a header or is compared byte by byte; the value itself is never shown.
fn secret(key: &str, text: String) -> Result<SecretString, ConfigError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ConfigError(format!(
            "whatsapp.{key} must have only letters, digits and punctuation, without whitespace; check that \
             it was copied completely"
        )));
    }
    Ok(text.into())
}

fn template(key: &str, name: String) -> Result<String, ConfigError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(plain) {
        return Err(wrong(&format!("whatsapp.{key}"), &name, "the name of a template: a-z, 0-9 and _"));
    }
    Ok(name)
}

/// One without the other would be a webhook that can be set up and then believes nobody, or none that
/// can be set up.
fn webhook(
    app_secret: Option<Word>,
    verify_token: Option<Word>,
) -> Result<Option<WebhookSecrets>, ConfigError> {
    match (app_secret, verify_token) {
        (None, None) => Ok(None),
        (Some(app_secret), Some(verify_token)) => Ok(Some(WebhookSecrets {
            app_secret: secret("app_secret", app_secret.text())?,
            verify_token: secret("verify_token", verify_token.text())?,
        })),
        (given, _) => {
            let missing = if given.is_some() { "verify_token" } else { "app_secret" };
            Err(ConfigError(format!(
                "whatsapp.{missing} is missing: whatsapp.app_secret and whatsapp.verify_token must be set \
                 together, for the webhook that receives delivery reports"
            )))
        }
    }
}

fn base_url(text: &str, dev: bool) -> Result<String, ConfigError> {
    let key = "whatsapp.base_url";
    let text = text.trim_end_matches('/');
    // Not shown: what stands before an @ may be a password.
    if text.contains(['@', '?', '#']) {
        return Err(ConfigError(format!("{key} must not contain a user, query or fragment")));
    }
    let target = parse_operator_url(text)
        .map_err(|_| wrong(key, text, "an address such as https://graph.facebook.com"))?;
    let url = target.url();
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    if !target.is_https() && !is_loopback && !dev {
        return Err(ConfigError(format!(
            "{key} = {text:?} would send the token, links and codes unencrypted: use https"
        )));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::super::Config;
    use super::*;

    const KEYS: &str =
        "phone_number_id = \"106540352242922\"\ntoken = \"EAAtest\"\ntemplate = \"pay_link\"\n";

    fn load(file: &str) -> Result<MessengerChoice, ConfigError> {
        Config::load(file, std::iter::empty()).map(|config| config.messenger)
    }

    fn whatsapp(more: &str) -> Result<WhatsApp, ConfigError> {
        let choice = load(&format!("messenger = \"whatsapp\"\n[whatsapp]\n{KEYS}{more}"))?;
        Ok(choice.whatsapp().expect("whatsapp").clone())
    }

    #[test]
    fn three_keys_are_enough() {
        let w = whatsapp("").unwrap();
        assert_eq!(
            w.messages_url().unwrap().as_str(),
            "https://graph.facebook.com/v25.0/106540352242922/messages"
        );
        assert_eq!(
            (w.templates.link.as_str(), w.templates.code.as_deref()),
            ("pay_link", Some("tillbell_code"))
        );
        assert!(w.webhook.is_none() && w.templates.merchant.is_none() && w.language == "en");
        let more = "base_url = \"http://127.0.0.1:9/mock/\"\napi_version = \"v24.0\"\nreceipt_template = \"none\"\n\
                    merchant_template = \"shop_text\"\napp_secret = \"0123abcd\"\nverify_token = 778899\n";
        let w = whatsapp(more).unwrap();
        assert_eq!(
            w.messages_url().unwrap().as_str(),
            "http://127.0.0.1:9/mock/v24.0/106540352242922/messages"
        );
        assert_eq!((w.templates.receipt, w.templates.merchant.as_deref()), (None, Some("shop_text")));
        assert_eq!(w.webhook.unwrap().verify_token.expose_secret(), "778899");
        assert!(!format!("{:?}", whatsapp(more).unwrap()).contains("EAAtest"));
    }

    #[test]
    fn an_environment_of_digits_is_a_text() {
        let set = |key: &str, value: &str| (format!("TILLBELL_{key}"), value.to_owned());
        let environment = [
            set("MESSENGER", "whatsapp"),
            set("WHATSAPP__PHONE_NUMBER_ID", "106540352242922"),
            set("WHATSAPP__TOKEN", "EAAtest"),
            set("WHATSAPP__TEMPLATE", "pay_link"),
        ];
        let config = Config::load("", environment.into_iter()).unwrap();
        assert_eq!(config.messenger.whatsapp().unwrap().phone_number_id, "106540352242922");
    }

    #[test]
    fn mistakes_are_named_and_secrets_are_not() {
        for (more, expected) in [
            ("base_url = \"http://api.example.com\"", "use https"),
            ("base_url = \"graph.facebook.com\"", "whatsapp.base_url"),
            ("base_url = \"https://a:b@api.example.com\"", "not contain a user"),
            ("base_url = \"https://api.example.com/?a=b\"", "a user, query"),
            ("api_version = \"25\"", "whatsapp.api_version"),
            ("language = \"en-US\"", "whatsapp.language"),
            ("code_template = \"My Code\"", "whatsapp.code_template"),
            ("app_secret = \"0123abcd\"", "whatsapp.verify_token is missing"),
            ("verify_token = \"0123abcd\"", "whatsapp.app_secret is missing"),
            ("app_secret = \"with blank\"\nverify_token = \"x\"", "whatsapp.app_secret must"),
            ("colour = 1", "colour"),
        ] {
            let error = whatsapp(more).unwrap_err().to_string();
            assert!(error.contains(expected), "{more}: {error}");
            assert!(!error.contains("with blank") && !error.contains("a:b"), "{error}");
        }
        for key in ["phone_number_id", "token", "template"] {
            let kept: String =
                KEYS.lines().filter(|line| !line.starts_with(key)).collect::<Vec<_>>().join("\n");
            let error =
                load(&format!("messenger = \"whatsapp\"\n[whatsapp]\n{kept}")).unwrap_err().to_string();
            assert!(error.contains(&format!("needs whatsapp.{key}")), "{error}");
        }
        let number =
            load("messenger = \"whatsapp\"\n[whatsapp]\nphone_number_id = \"+234803\"\ntoken = \"x\"");
        assert!(number.unwrap_err().to_string().contains("not the number itself"));
        let unused = load(&format!("[whatsapp]\n{KEYS}")).unwrap_err().to_string();
        assert!(unused.contains("configured but not used"), "{unused}");
        assert!(matches!(
            load(&format!("messenger = \"log\"\n[whatsapp]\n{KEYS}")),
            Ok(MessengerChoice::Log)
        ));
        let plain = format!(
            "messenger = \"whatsapp\"\n[server]\ndev = true\n[whatsapp]\n{KEYS}base_url = \"http://meta:80\""
        );
        assert!(load(&plain).is_ok(), "dev mode speaks plain HTTP");
    }
}

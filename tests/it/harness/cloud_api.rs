//! A double of WhatsApp's Cloud API: a real server on a free port of 127.0.0.1.
//!
//! Built from the public documentation (developers.facebook.com/documentation/business-messaging/whatsapp):
//! it checks the token, the form of each request, customers' 24-hour windows, and template messages against
//! the templates of docs/whatsapp-templates.json, and answers as documented, errors included. It can be told
//! to misbehave in every way a network can. It keeps what it took, as the customer's phone would show it.

use std::collections::{HashSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio_util::task::AbortOnDropHandle;

pub const TOKEN: &str = "EAAGcanary7kZbToken0451";
pub const NUMBER_ID: &str = "106540352242922";
pub const APP_SECRET: &str = "5f2a9c61canaryappsecret";
pub const VERIFY_TOKEN: &str = "meaty-ham-hock";
const VERSION: &str = "v25.0";
const REQUEST_MAX: usize = 256 * 1024;
/// What registered templates lead to.
pub const BUTTON_BASE: &str = "https://pay.example.com/pay/";

/// A message that was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    pub id: String,
    pub to: String,
    /// `text`, or the template's name.
    pub form: String,
    /// The words as the customer sees them.
    pub words: String,
    /// The address behind the template's button, or what it copies.
    pub button: Option<String>,
    pub reference: String,
}

/// What happens to the next request instead of a good answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// A documented error; its details repeat what was sent, as Meta's may.
    Error { status: u16, code: i64 },
    /// Status, headers and body as they are, and nothing is taken.
    Raw { status: u16, headers: &'static str, body: String },
    /// Nothing is taken, and no answer comes.
    Stall,
    /// The message is taken, and no answer comes.
    TakeAndStall,
    /// The message is taken, and the answer comes when it is told to.
    TakeAndHold(Arc<Notify>),
    /// The message is taken, and the connection breaks.
    TakeAndReset,
    /// The message is taken; the answer is cut off after this many bytes.
    TakeAndCut(usize),
    /// An answer without an end.
    Giant,
}

/// HTTP status, code and details of an error.
type Refusal = (u16, i64, String);
/// Form, words and button of a message.
type Filled = (String, String, Option<String>);

#[derive(Default)]
struct Book {
    taken: Vec<Taken>,
    /// Bodies of all requests, taken or not.
    requests: Vec<Value>,
    problems: Vec<String>,
    faults: VecDeque<Fault>,
    open_windows: HashSet<String>,
    templates: Vec<Value>,
    token: String,
}

pub struct CloudApi {
    address: SocketAddr,
    book: Arc<Mutex<Book>>,
    count: Arc<watch::Sender<usize>>,
    _serving: AbortOnDropHandle<()>,
}

impl CloudApi {
    pub async fn start() -> CloudApi {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let templates: Vec<Value> =
            serde_json::from_str(include_str!("../../../docs/whatsapp-templates.json")).unwrap();
        let book = Arc::new(Mutex::new(Book { templates, token: TOKEN.into(), ..Book::default() }));
        let count = Arc::new(watch::Sender::new(0));
        let (kept, counted) = (book.clone(), count.clone());
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, kept.clone(), counted.clone()));
            }
        });
        CloudApi { address, book, count, _serving: AbortOnDropHandle::new(serving) }
    }

    /// The configuration that leads here; `more` are further keys of the section.
    pub fn settings(&self, more: &str) -> String {
        format!(
            "messenger = \"whatsapp\"\n[whatsapp]\nbase_url = \"http://{}\"\nphone_number_id = \"{NUMBER_ID}\"\n\
             token = \"{TOKEN}\"\ntemplate = \"tillbell_payment_link\"\napp_secret = \"{APP_SECRET}\"\n\
             verify_token = \"{VERIFY_TOKEN}\"\n{more}\n",
            self.address
        )
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    /// The next request meets this; several queue up.
    pub fn fail_next(&self, fault: Fault) {
        self.lock().faults.push_back(fault);
    }

    pub fn error_next(&self, status: u16, code: i64) {
        self.fail_next(Fault::Error { status, code });
    }

    /// The customer has written to the business.
    pub fn open_window(&self, digits: &str) {
        self.lock().open_windows.insert(digits.into());
    }

    pub fn close_window(&self, digits: &str) {
        self.lock().open_windows.remove(digits);
    }

    /// A template is not there any more.
    pub fn forget_template(&self, name: &str) {
        self.lock().templates.retain(|template| template["name"] != name);
    }

    /// The token that is good from now on.
    pub fn change_token(&self, token: &str) {
        self.lock().token = token.into();
    }

    pub fn taken(&self) -> Vec<Taken> {
        self.lock().taken.clone()
    }

    pub fn last(&self) -> Taken {
        self.taken().pop().expect("a message was taken")
    }

    pub fn requests(&self) -> Vec<Value> {
        self.lock().requests.clone()
    }

    /// What was wrong with requests, by the documentation.
    pub fn problems(&self) -> Vec<String> {
        self.lock().problems.clone()
    }

    /// Waits until this many requests came in all, with a deadline.
    pub async fn wait_for(&self, count: usize) {
        let mut seen = self.count.subscribe();
        let waited =
            tokio::time::timeout(Duration::from_secs(30), seen.wait_for(|seen| *seen >= count)).await;
        assert!(waited.is_ok(), "{} of {count} requests came: {:?}", self.requests().len(), self.requests());
    }
}

/// Answers one request after another on a connection.
async fn converse(mut stream: TcpStream, book: Arc<Mutex<Book>>, count: Arc<watch::Sender<usize>>) {
    while let Some((head, body)) = read_request(&mut stream).await {
        let (answer, fault) = {
            let mut book = book.lock().unwrap();
            let fault = book.faults.pop_front();
            let answer = book.handle(&head, &body, fault.as_ref());
            count.send_modify(|count| *count += 1);
            (answer, fault)
        };
        match fault {
            Some(Fault::Stall | Fault::TakeAndStall) => return std::future::pending().await,
            Some(Fault::TakeAndReset) => {
                // A close that drops what is unread resets the connection.
                stream.set_zero_linger().unwrap();
                return;
            }
            Some(Fault::TakeAndHold(go)) => go.notified().await,
            Some(Fault::TakeAndCut(bytes)) => {
                stream.write_all(&answer[..bytes]).await.unwrap();
                return;
            }
            Some(Fault::Giant) => {
                let _ =
                    stream.write_all(b"HTTP/1.1 400 Bad Request\r\ntransfer-encoding: chunked\r\n\r\n").await;
                while stream.write_all(b"4\r\nspam\r\n").await.is_ok() {}
                return;
            }
            _ => {}
        }
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
            let length: usize = header(&head, "content-length").and_then(|text| text.parse().ok())?;
            if bytes.len() >= end + 4 + length {
                return Some((head, bytes[end + 4..end + 4 + length].to_vec()));
            }
        }
        assert!(bytes.len() < REQUEST_MAX, "a request without an end");
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

fn response(status: u16, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json; charset=UTF-8\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The documented form of an error.
fn refusal(status: u16, code: i64, details: &str) -> Vec<u8> {
    let body = json!({ "error": {
        "message": format!("(#{code}) {details}"),
        "type": "OAuthException",
        "code": code,
        "error_data": { "messaging_product": "whatsapp", "details": details },
        "fbtrace_id": "Az8or2yhqkZfEZ-_4Qn_Bam"
    }});
    response(status, "", &body.to_string())
}

impl Book {
    fn handle(&mut self, head: &str, body: &[u8], fault: Option<&Fault>) -> Vec<u8> {
        let request: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        self.requests.push(request.clone());
        match fault {
            Some(Fault::Error { status, code }) => {
                let details =
                    format!("Failed for {request} and {}", header(head, "authorization").unwrap_or_default());
                return refusal(*status, *code, &details);
            }
            Some(Fault::Raw { status, headers, body }) => return response(*status, headers, body),
            Some(Fault::Stall | Fault::Giant) => return Vec::new(),
            _ => {}
        }
        match self.check(head, &request) {
            Err((status, code, details)) => {
                self.problems.push(format!("{code}: {details}"));
                refusal(status, code, &details)
            }
            Ok(mut taken) => {
                taken.id = format!("wamid.HBgNMjM0{:06}", self.taken.len() + 1);
                let answer = json!({
                    "messaging_product": "whatsapp",
                    "contacts": [{ "input": taken.to, "wa_id": taken.to }],
                    "messages": [{ "id": taken.id, "message_status": "accepted" }]
                });
                self.taken.push(taken);
                response(200, "", &answer.to_string())
            }
        }
    }

    fn check(&self, head: &str, request: &Value) -> Result<Taken, Refusal> {
        let first = head.lines().next().unwrap_or_default();
        if first != format!("POST /{VERSION}/{NUMBER_ID}/messages HTTP/1.1") {
            return Err((404, 2500, format!("Unknown path components: {first}")));
        }
        if header(head, "authorization") != Some(&format!("Bearer {}", self.token)) {
            return Err((
                401,
                190,
                format!("Invalid OAuth access token {:?}", header(head, "authorization")),
            ));
        }
        if header(head, "content-type") != Some("application/json") {
            return Err((400, 100, "content-type".into()));
        }
        let bad = |what: &str| (400, 131_009, format!("Parameter value is not valid: {what}"));
        let known = [
            "messaging_product",
            "recipient_type",
            "to",
            "type",
            "text",
            "template",
            "biz_opaque_callback_data",
        ];
        let members = request.as_object().ok_or((400, 100, "no object".to_owned()))?;
        if let Some(unknown) = members.keys().find(|name| !known.contains(&name.as_str())) {
            return Err((400, 100, format!("Unexpected key {unknown:?}")));
        }
        if request["messaging_product"] != "whatsapp" {
            return Err((400, 100, "The parameter messaging_product is required.".into()));
        }
        if request["recipient_type"] != "individual" {
            return Err(bad("recipient_type"));
        }
        let to = text(&request["to"])
            .filter(|to| to.len() >= 7 && to.bytes().all(|b| b.is_ascii_digit()))
            .ok_or_else(|| bad("to"))?;
        let reference = text(&request["biz_opaque_callback_data"])
            .filter(|text| text.len() <= 512)
            .ok_or_else(|| bad("biz_opaque_callback_data"))?;
        let (form, words, button) = match text(&request["type"]) {
            Some("text") => {
                let words = text(&request["text"]["body"]).ok_or((400, 131_008, "text.body".to_owned()))?;
                if words.is_empty() || words.chars().count() > 4096 {
                    return Err((400, 100, "text.body must have 1 to 4096 characters".into()));
                }
                if !self.open_windows.contains(to) {
                    return Err((
                        400,
                        131_047,
                        "More than 24 hours have passed since the customer last replied".into(),
                    ));
                }
                ("text".to_owned(), words.to_owned(), None)
            }
            Some("template") => self.fill(&request["template"])?,
            _ => return Err((400, 131_051, "Unsupported message type".into())),
        };
        Ok(Taken { id: String::new(), to: to.into(), form, words, button, reference: reference.into() })
    }

    /// The template as the customer sees it.
    fn fill(&self, sent: &Value) -> Result<Filled, Refusal> {
        let name = text(&sent["name"]).ok_or((400, 131_008, "template.name".to_owned()))?;
        let language = &sent["language"]["code"];
        let template = self.templates.iter().find(|one| one["name"] == name && one["language"] == *language);
        let template =
            template.ok_or((404, 132_001, format!("template name ({name}) does not exist in {language}")))?;
        let part = |list: &Value, kind: &str| {
            list.as_array()
                .and_then(|all| all.iter().find(|one| one["type"] == kind))
                .cloned()
                .unwrap_or(Value::Null)
        };
        let given = parameters(&part(&sent["components"], "body"))?;
        let is_code = template["category"] == "authentication";
        let mut words = if is_code {
            "{{1}} is your verification code. For your security, do not share this code.".to_owned()
        } else {
            text(&part(&template["components"], "body")["text"]).unwrap_or_default().to_owned()
        };
        let wanted = (1..).take_while(|n| words.contains(&format!("{{{{{n}}}}}"))).count();
        if given.len() != wanted {
            let details = format!(
                "body: number of localizable_params ({}) does not match the expected number of params ({wanted})",
                given.len()
            );
            return Err((400, 132_000, details));
        }
        for (at, parameter) in given.iter().enumerate() {
            words = words.replace(&format!("{{{{{}}}}}", at + 1), parameter);
        }
        if words.chars().count() > 1024 {
            return Err((400, 132_005, "Translated text too long".into()));
        }
        let buttons = part(&template["components"], "buttons");
        let registered = &buttons["buttons"][0];
        let sent_button = part(&sent["components"], "button");
        if registered.is_null() {
            if !sent_button.is_null() {
                return Err((400, 132_000, "a button that is not registered".into()));
            }
            return Ok((name.to_owned(), words, None));
        }
        if sent_button["sub_type"] != "url" || sent_button["index"] != "0" {
            return Err((400, 131_008, "button: Button at index 0 of type Url requires a parameter".into()));
        }
        let [end] = parameters(&sent_button)?.try_into().map_err(|_| (400, 132_000, "button".to_owned()))?;
        let button = match text(&registered["url"]) {
            Some(url) => url.replace("{{1}}", &end),
            None => end,
        };
        Ok((name.to_owned(), words, Some(button)))
    }
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

fn parameters(component: &Value) -> Result<Vec<String>, Refusal> {
    let mut all = Vec::new();
    for parameter in component["parameters"].as_array().into_iter().flatten() {
        let text = text(&parameter["text"]).filter(|text| !text.is_empty() && parameter["type"] == "text");
        let text = text.ok_or((400, 131_008, "parameter of type text is missing text".to_owned()))?;
        if text.contains(['\n', '\t']) || text.contains("     ") {
            return Err((
                400,
                132_018,
                "Param text cannot have new-line/tab characters or more than 4 consecutive spaces".into(),
            ));
        }
        all.push(text.to_owned());
    }
    Ok(all)
}

/// A notice of Meta's with these members beside the metadata.
pub fn notice(number_id: &str, members: Value) -> String {
    let mut value = json!({
        "messaging_product": "whatsapp",
        "metadata": { "display_phone_number": "2342015550100", "phone_number_id": number_id }
    });
    value.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    json!({
        "object": "whatsapp_business_account",
        "entry": [{ "id": "102290129340398", "changes": [{ "value": value, "field": "messages" }] }]
    })
    .to_string()
}

/// A report about a message, as documented for `statuses`.
pub fn report(taken: &Taken, status: &str, code: Option<i64>) -> String {
    let mut told = json!({
        "id": taken.id,
        "status": status,
        "timestamp": "1773129605",
        "recipient_id": taken.to,
        "biz_opaque_callback_data": taken.reference,
        "pricing": { "billable": true, "pricing_model": "PMP", "type": "regular", "category": "utility" }
    });
    if let Some(code) = code {
        told["errors"] = json!([{
            "code": code, "title": "Title", "message": "Title",
            "error_data": { "details": "Details" },
            "href": "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/"
        }]);
    }
    notice(NUMBER_ID, json!({ "statuses": [told] }))
}

/// A text of a customer's, sent at this second.
pub fn written(from: &str, seconds: i64, kind: &str) -> String {
    let members = json!({
        "contacts": [{ "profile": { "name": "Ifeoma" }, "wa_id": from }],
        "messages": [{
            "from": from, "id": "wamid.HBgLIN", "timestamp": seconds.to_string(), "type": kind,
            "text": { "body": "kanariefågel: is my parcel there?" }
        }]
    });
    notice(NUMBER_ID, members)
}

/// The header of a body, signed with this secret.
pub fn signature(body: &[u8], secret: &str) -> String {
    use hmac::{Hmac, KeyInit, Mac};
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    let digest = mac.finalize().into_bytes();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("X-Hub-Signature-256: sha256={hex}")
}

//! A real browser, Chromium without a window, driven over the WebDriver protocol.
//!
//! As large as a phone, with scripts switched off: what works here works anywhere. `./test` installs it.
//! Pictures of pages go to the folder that `TILLBELL_TEST_PICTURES` names, if it is set.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const PROGRAM: &str = "chromedriver";
/// Names the folder where pictures are kept.
pub const PICTURES: &str = "TILLBELL_TEST_PICTURES";
/// One command; the first one starts the browser.
const DEADLINE: Duration = Duration::from_secs(60);
/// As many drivers are begun until one listens.
const DRIVERS_MOST: u32 = 5;
/// How long a page may take to come.
const SHOWN_WITHIN: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How the protocol writes a reference to an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A small phone.
pub const PHONE: (u32, u32) = (360, 740);

/// One browser with one tab, ended when dropped. Calls block.
pub struct Browser {
    driver: Child,
    port: u16,
    tab: String,
    _folder: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = request(self.port, "DELETE", &self.tab, None);
        // Whatever of the browser did not end by itself: the driver leads a group of its own.
        let group = format!("-{}", self.driver.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.driver.wait();
    }
}

impl Browser {
    pub fn start() -> Browser {
        Browser::start_as(false)
    }

    /// One in which the pages' own scripts run.
    pub fn with_scripts() -> Browser {
        Browser::start_as(true)
    }

    /// The same that keeps pages whole in its memory, as browsers on a desk do, and shows them again without asking.
    pub fn that_keeps_pages() -> Browser {
        Browser::start_keeping(true, true)
    }

    fn start_as(has_scripts: bool) -> Browser {
        // The history is loaded again, as on a phone that has dropped its pages.
        Browser::start_keeping(has_scripts, false)
    }

    fn start_keeping(has_scripts: bool, keeps_pages: bool) -> Browser {
        let folder = tempfile::Builder::new().prefix("tillbell-browser-").tempdir_in("/tmp").unwrap();
        let (driver, port) = start_driver(folder.path());
        let mut browser = Browser { driver, port, tab: String::new(), _folder: folder };
        let data = browser._folder.path().join("profile");
        let mut arguments = vec![
            "--headless=new".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--hide-scrollbars".to_owned(),
            "--no-first-run".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            format!("--user-data-dir={}", data.display()),
        ];
        if !keeps_pages {
            arguments.push("--disable-features=BackForwardCache".to_owned());
        }
        if is_root() {
            // Its sandbox needs a user of its own.
            arguments.push("--no-sandbox".to_owned());
        }
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "unhandledPromptBehavior": "accept",
            "goog:chromeOptions": {
                "args": arguments,
                "prefs": {"profile.managed_default_content_settings.javascript": if has_scripts { 1 } else { 2 }},
            },
        }}});
        let answer = request(port, "POST", "/session", Some(&wanted)).expect("the browser starts");
        browser.tab = format!("/session/{}", answer["sessionId"].as_str().expect("an id"));
        browser.resize(PHONE);
        browser
    }

    fn call(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let path = format!("{}/{path}", self.tab);
        request(self.port, method, &path, body.as_ref()).unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    /// The browser's own commands, for what the protocol has no word for.
    fn command(&self, name: &str, params: Value) -> Value {
        self.call("POST", "goog/cdp/execute", Some(json!({"cmd": name, "params": params})))
    }

    pub fn resize(&self, (width, height): (u32, u32)) {
        // Twice as many points a pixel, as a phone has, where somebody looks at pictures: they are drawn for nobody else.
        let points = if std::env::var_os(PICTURES).is_some() { 2 } else { 1 };
        let size = json!({"width": width, "height": height, "deviceScaleFactor": points, "mobile": true});
        self.command("Emulation.setDeviceMetricsOverride", size);
    }

    /// The size of text that a reader has set: 16 pixels where they have set none.
    pub fn text_size(&self, pixels: u32) {
        self.command("Page.setFontSizes", json!({"fontSizes": {"standard": pixels, "fixed": pixels}}));
    }

    /// Has an authenticator from now on, as a phone has that is unlocked by a finger.
    pub fn add_authenticator(&self) {
        let wanted = json!({
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
            "isUserVerified": true,
        });
        self.call("POST", "webauthn/authenticator", Some(wanted));
    }

    /// Whether the network is away, as where a cable is pulled out.
    pub fn offline(&self, is_offline: bool) {
        self.command("Network.enable", json!({}));
        let speed =
            json!({"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
        self.command("Network.emulateNetworkConditions", speed);
    }

    pub fn dark(&self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": value}]);
        self.command("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    pub fn open(&self, url: &str) {
        self.call("POST", "url", Some(json!({"url": url})));
    }

    /// Loads the page again, and with it sends again the form it came from.
    pub fn reload(&self) {
        self.call("POST", "refresh", Some(json!({})));
    }

    pub fn back(&self) {
        self.call("POST", "back", Some(json!({})));
    }

    pub fn forward(&self) {
        self.call("POST", "forward", Some(json!({})));
    }

    /// Where it is, with what is asked there.
    pub fn address(&self) -> String {
        self.call("GET", "url", None).as_str().unwrap().to_owned()
    }

    /// Runs a script in the page, whatever its policy says, and waits for what that promises.
    pub fn execute(&self, script: &str, arguments: Value) -> Value {
        self.call("POST", "execute/sync", Some(json!({"script": script, "args": arguments})))
    }

    pub fn title(&self) -> String {
        self.call("GET", "title", None).as_str().unwrap().to_owned()
    }

    fn find(&self, css: &str) -> Vec<String> {
        let body = json!({"using": "css selector", "value": css});
        let found = self.call("POST", "elements", Some(body));
        let found = found.as_array().unwrap().iter();
        found.map(|element| element[ELEMENT].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    fn one(&self, css: &str) -> String {
        let found = self.find(css);
        assert_eq!(found.len(), 1, "{css} on this page:\n{}", self.text());
        found.into_iter().next().unwrap()
    }

    #[track_caller]
    fn first(&self, css: &str) -> String {
        self.find(css).into_iter().next().unwrap_or_else(|| panic!("no {css} on this page:\n{}", self.text()))
    }

    pub fn has(&self, css: &str) -> bool {
        !self.find(css).is_empty()
    }

    /// What a reader sees of the page.
    pub fn text(&self) -> String {
        self.once_whole(|| self.try_text())
    }

    /// What is asked of elements, again where a part of the page takes the place of another meanwhile.
    #[track_caller]
    fn once_whole<T>(&self, ask: impl Fn() -> Result<T, String>) -> T {
        let started = Instant::now();
        loop {
            match ask() {
                Ok(answer) => return answer,
                Err(why) if !why.contains("stale element") || started.elapsed() > SHOWN_WITHIN => {
                    panic!("{why}")
                }
                Err(_) => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// Fails while one page takes the place of another.
    fn try_text(&self) -> Result<String, String> {
        let body = self.find("body").into_iter().next().ok_or("no page")?;
        let path = format!("{}/element/{body}/text", self.tab);
        let text = request(self.port, "GET", &path, None)?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// The texts of such elements.
    pub fn texts(&self, css: &str) -> Vec<String> {
        let text = |element: &String| {
            let text = request(self.port, "GET", &format!("{}/element/{element}/text", self.tab), None)?;
            Ok(text.as_str().unwrap_or_default().to_owned())
        };
        self.once_whole(|| self.find(css).iter().map(text).collect())
    }

    /// Waits for a page that shows this: what was touched may still be loading.
    #[track_caller]
    pub fn shows(&self, part: &str) {
        let started = Instant::now();
        loop {
            let text = self.try_text();
            match text {
                Ok(text) if text.contains(part) => return,
                text if started.elapsed() > SHOWN_WITHIN => panic!("{part:?} is not on this page:\n{text:?}"),
                _ => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// Waits for an element that the page makes by itself.
    #[track_caller]
    pub fn wait_for(&self, css: &str) {
        let started = Instant::now();
        while !self.has(css) {
            assert!(started.elapsed() < SHOWN_WITHIN, "no {css} on this page:\n{}", self.text());
            std::thread::sleep(LOOK_EVERY);
        }
    }

    #[track_caller]
    pub fn fill(&self, css: &str, text: &str) {
        let element = self.one(css);
        self.call("POST", &format!("element/{element}/value"), Some(json!({"text": text})));
    }

    #[track_caller]
    pub fn click(&self, css: &str) {
        let element = self.one(css);
        self.call("POST", &format!("element/{element}/click"), Some(json!({})));
    }

    /// The first of several.
    #[track_caller]
    pub fn click_first(&self, css: &str) {
        let element = self.first(css);
        self.call("POST", &format!("element/{element}/click"), Some(json!({})));
    }

    /// Presses keys where the cursor is, and on the page where it is in no field.
    pub fn press(&self, keys: &str) {
        let element = self.call("GET", "element/active", None);
        let element = element[ELEMENT].as_str().unwrap().to_owned();
        self.call("POST", &format!("element/{element}/value"), Some(json!({"text": keys})));
    }

    /// The name of the field that would be typed into.
    pub fn focused(&self) -> String {
        let element = self.call("GET", "element/active", None);
        let element = element[ELEMENT].as_str().unwrap().to_owned();
        let name = self.call("GET", &format!("element/{element}/attribute/name"), None);
        name.as_str().unwrap_or_default().to_owned()
    }

    /// What is read out for an element, and what it is called to be.
    pub fn heard(&self, css: &str) -> (String, String) {
        let element = self.one(css);
        let ask = |what: &str| self.call("GET", &format!("element/{element}/{what}"), None);
        let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
        (text(ask("computedrole")), text(ask("computedlabel")))
    }

    /// A computed style of the first such element.
    pub fn style(&self, css: &str, property: &str) -> String {
        let element = self.first(css);
        self.call("GET", &format!("element/{element}/css/{property}"), None).as_str().unwrap().to_owned()
    }

    /// Width and height of an element, in pixels of the page.
    pub fn size(&self, css: &str) -> (f64, f64) {
        let element = self.one(css);
        let rect = self.call("GET", &format!("element/{element}/rect"), None);
        (rect["width"].as_f64().unwrap(), rect["height"].as_f64().unwrap())
    }

    /// Where such elements end on the right, in pixels of the page.
    pub fn right_ends(&self, css: &str) -> Vec<f64> {
        let rect = |element: &String| self.call("GET", &format!("element/{element}/rect"), None);
        let end = |rect: Value| rect["x"].as_f64().unwrap() + rect["width"].as_f64().unwrap();
        self.find(css).iter().map(rect).map(end).collect()
    }

    /// How high such elements are; 0 for what is not shown.
    pub fn heights(&self, css: &str) -> Vec<f64> {
        let rect = |element: &String| self.call("GET", &format!("element/{element}/rect"), None);
        self.find(css).iter().map(rect).map(|rect| rect["height"].as_f64().unwrap()).collect()
    }

    /// What stands in elements that are too narrow for it.
    pub fn overflowing(&self, css: &str) -> Vec<String> {
        let ask = |element: &String, what: &str| self.call("GET", &format!("element/{element}/{what}"), None);
        let width =
            |element: &String, name: &str| ask(element, &format!("property/{name}")).as_f64().unwrap();
        let found = self.find(css).into_iter();
        let cut = found.filter(|element| width(element, "scrollWidth") > width(element, "clientWidth"));
        cut.map(|element| ask(&element, "text").to_string()).collect()
    }

    /// Where an element begins and ends, in pixels below the upper edge of the window.
    pub fn in_view(&self, css: &str) -> (f64, f64) {
        let element = self.one(css);
        let rect = self.call("GET", &format!("element/{element}/rect"), None);
        let scrolled =
            self.command("Page.getLayoutMetrics", json!({}))["cssVisualViewport"]["pageY"].as_f64();
        let top = rect["y"].as_f64().unwrap() - scrolled.unwrap();
        (top, top + rect["height"].as_f64().unwrap())
    }

    /// What a field holds.
    pub fn value(&self, css: &str) -> String {
        let element = self.one(css);
        let value = self.call("GET", &format!("element/{element}/property/value"), None);
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Width and height of everything on the page.
    pub fn extent(&self) -> (f64, f64) {
        let size = &self.command("Page.getLayoutMetrics", json!({}))["cssContentSize"];
        (size["width"].as_f64().unwrap(), size["height"].as_f64().unwrap())
    }

    /// Bytes that scripts hold and elements that the page holds, when what nobody holds was let go of.
    pub fn held(&self) -> (f64, f64) {
        self.command("HeapProfiler.collectGarbage", json!({}));
        let heap = self.command("Runtime.getHeapUsage", json!({}))["usedSize"].as_f64().unwrap();
        let nodes = self.command("Memory.getDOMCounters", json!({}))["nodes"].as_f64().unwrap();
        (heap, nodes)
    }

    /// Keeps a picture of the whole page, where that is asked for.
    pub fn picture(&self, name: &str) {
        self.keep_picture(name, true);
    }

    /// The same of what is in view.
    pub fn window_picture(&self, name: &str) {
        self.keep_picture(name, false);
    }

    fn keep_picture(&self, name: &str, whole: bool) {
        let Some(folder) = std::env::var_os(PICTURES).map(PathBuf::from) else { return };
        let ask = json!({"format": "png", "captureBeyondViewport": whole});
        let picture = self.command("Page.captureScreenshot", ask);
        let bytes = STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.starts_with(b"0\n")
}

/// A driver that listens, and its port. Each picks a port that is free for one kind of address, and ends by itself
/// where somebody else has it for the other kind: then the next one tries.
fn start_driver(folder: &Path) -> (Child, u16) {
    for _ in 0..DRIVERS_MOST {
        let driver = Command::new(PROGRAM)
            .arg("--port=0")
            .env("TMPDIR", folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let mut driver = driver.expect("chromedriver is missing: ./test installs chromium-driver");
        match told_port(&mut driver) {
            Some(port) => return (driver, port),
            None => eprintln!("chromedriver ended before it listened: {}", driver.wait().unwrap()),
        }
    }
    panic!("none of {DRIVERS_MOST} chromedrivers listened on a port");
}

/// The driver says on which port it listens; nothing, where it ends instead.
fn told_port(driver: &mut Child) -> Option<u16> {
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    lines.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once("on port ")?;
        rest.trim_end_matches('.').parse().ok().filter(|port| *port != 0)
    })
}

/// One command; the answer's `value`, or what the driver says is wrong.
fn request(port: u16, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let started = Instant::now();
    let mut stream = loop {
        match std::net::TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => break stream,
            Err(why) if started.elapsed() > DEADLINE => return Err(why.to_string()),
            Err(_) => std::thread::sleep(LOOK_EVERY),
        }
    };
    stream.set_read_timeout(Some(DEADLINE)).map_err(|why| why.to_string())?;
    stream.write_all(text.as_bytes()).map_err(|why| why.to_string())?;
    let (head, body) = read_answer(&mut stream).map_err(|why| why.to_string())?;
    let value: Value = serde_json::from_str(&body).map_err(|why| format!("{why}: {body}"))?;
    let is_good = head.split(' ').nth(1) == Some("200");
    if is_good { Ok(value["value"].clone()) } else { Err(value["value"]["message"].to_string()) }
}

/// Head and body. The driver keeps connections open whatever it is asked, so the length counts.
fn read_answer(stream: &mut std::net::TcpStream) -> std::io::Result<(String, String)> {
    let mut lines = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body)?;
    Ok((head, String::from_utf8_lossy(&body).into_owned()))
}

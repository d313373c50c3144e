// Copy buttons: they stand hidden in the page, and appear where the browser can copy.
(function () {
  "use strict";
  function ready(root) {
    if (!navigator.clipboard) return;
    root.querySelectorAll("button[data-copy][hidden]").forEach(function (button) {
      button.hidden = false;
    });
  }
  document.addEventListener("click", function (event) {
    var button = event.target.closest && event.target.closest("button[data-copy]");
    if (!button) return;
    var source = document.getElementById(button.dataset.copy);
    if (!source) return;
    navigator.clipboard.writeText(source.textContent.trim()).then(function () {
      var text = button.textContent;
      button.textContent = "Copied";
      button.disabled = true;
      setTimeout(function () { button.textContent = text; button.disabled = false; }, 2000);
    });
  });
  document.addEventListener("htmx:load", function (event) { ready(event.target); });
  ready(document);
})();

// A page that comes back from the browser's memory may show what is over: to somebody who has signed out, or a key that was
// shown once.
window.addEventListener("pagehide", function (event) { if (event.persisted) document.body.hidden = true; });
window.addEventListener("pageshow", function (event) { if (event.persisted) location.reload(); });

// A form that was sent is not sent again by a second click, which would make a second key. It may be after a while, or when
// the page is come back to.
(function () {
  "use strict";
  document.addEventListener("submit", function (event) {
    var form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    if (form.dataset.going) { event.preventDefault(); return; }
    form.dataset.going = "1";
    setTimeout(function () { delete form.dataset.going; }, 5000);
  });
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[data-going]").forEach(function (form) { delete form.dataset.going; });
  });
})();

// The keys of the desk. Each presses a button or a link that stands in the page with its key on it. They are off where the
// page says so, while something is typed, and in the first moment of a page: a key that is held must not decide what
// nobody has seen.
(function () {
  "use strict";
  var desk = document.querySelector("[data-keys]");
  if (!desk || desk.dataset.keys !== "on") return;
  desk.querySelectorAll("kbd[hidden]").forEach(function (key) { key.hidden = false; });
  var walk = Array.from(desk.querySelectorAll("[data-walk] td.lead a"));
  // Whether the page is being left: until the next one is seen no key counts. data-keys says when they do.
  var leaving = false, soon;
  window.addEventListener("pageshow", function () {
    leaving = false;
    desk.dataset.keys = "on";
    clearTimeout(soon);
    desk.querySelectorAll("form[data-sent]").forEach(function (form) { delete form.dataset.sent; });
    requestAnimationFrame(function () { requestAnimationFrame(function () {
      soon = setTimeout(function () { desk.dataset.keys = "ready"; }, 400);
    }); });
  });
  function typing(element) {
    return element.isContentEditable || /^(textarea|select)$/i.test(element.tagName) ||
      (element.tagName === "INPUT" && !/^(checkbox|radio|button|submit)$/.test(element.type));
  }
  function step(by) {
    var at = walk.indexOf(document.activeElement);
    var to = walk[at < 0 ? (by > 0 ? 0 : walk.length - 1) : at + by];
    if (to) { to.focus(); to.scrollIntoView({ block: "nearest" }); }
  }
  function press(target) {
    var form = target.form;
    if (target.tagName === "INPUT") { target.focus(); target.select(); return; }
    if (!form) { leaving = true; target.click(); return; }
    for (var box = form.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    if (/^[0-9]$/.test(target.dataset.key)) { target.focus(); return; }
    if (!form.checkValidity()) { form.querySelector(":invalid").focus(); return; }
    if (form.dataset.sent) return;
    form.dataset.sent = "1";
    leaving = true;
    form.requestSubmit(target);
  }
  document.addEventListener("keydown", function (event) {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(event.target)) return;
    var moves = event.key === "ArrowDown" || event.key === "ArrowUp";
    if (moves && walk.length) { step(event.key === "ArrowDown" ? 1 : -1); event.preventDefault(); return; }
    if (event.repeat || event.shiftKey || leaving || desk.dataset.keys !== "ready") return;
    var target = desk.querySelector('[data-key="' + CSS.escape(event.key) + '"]');
    if (!target) return;
    event.preventDefault();
    press(target);
  });
})();

// Passkeys: their forms stand hidden in the page, and appear where the browser has passkeys. Before such a form goes, the
// service is asked for a question, and the authenticator's answer is put into it.
(function () {
  "use strict";
  if (!window.PublicKeyCredential || !navigator.credentials) return;
  function bytes(text) {
    var plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return Uint8Array.from(plain, function (one) { return one.charCodeAt(0); });
  }
  function text(buffer) {
    var plain = Array.from(new Uint8Array(buffer), function (one) { return String.fromCharCode(one); }).join("");
    return btoa(plain).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
  }
  function question(key) {
    key.challenge = bytes(key.challenge);
    if (key.user) key.user.id = bytes(key.user.id);
    (key.excludeCredentials || key.allowCredentials || []).forEach(function (one) { one.id = bytes(one.id); });
    return { publicKey: key };
  }
  function answer(made) {
    var response = {};
    ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"].forEach(function (name) {
      var value = made.response[name];
      if (value !== undefined) response[name] = value && text(value);
    });
    return JSON.stringify({ id: made.id, rawId: text(made.rawId), type: made.type, response: response });
  }
  function send(form) {
    var told = form.querySelector("[data-passkey-told]");
    var asks = new URLSearchParams({ csrf: form.elements.csrf.value, act: "passkey-begin" });
    told.hidden = true;
    fetch(form.getAttribute("action"), { method: "POST", body: asks }).then(function (got) {
      return got.json();
    }).then(function (asked) {
      if (asked.go) { location.assign(asked.go); return null; }
      var key = question(asked.publicKey);
      return form.dataset.passkey === "make" ? navigator.credentials.create(key) : navigator.credentials.get(key);
    }).then(function (made) {
      if (!made) return;
      form.elements.credential.value = answer(made);
      form.submit();
    }).catch(function () {
      delete form.dataset.asked;
      told.setAttribute("role", "alert");
      told.hidden = false;
    });
  }
  document.addEventListener("submit", function (event) {
    var form = event.target;
    if (!form.dataset.passkey) return;
    event.preventDefault();
    if (form.dataset.asked) return;
    form.dataset.asked = "1";
    send(form);
  }, true);
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[data-asked]").forEach(function (form) { delete form.dataset.asked; });
  });
  document.querySelectorAll("form[data-passkey], [data-passkeys]").forEach(function (part) { part.hidden = false; });
})();

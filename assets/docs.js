// Trying a route from its page under /docs. The key is in this closure and in the field it was typed into, and nowhere else:
// it goes into one header of requests to this service, never into an address, a form or storage.
(function () {
  "use strict";
  var key = "";
  function ready(root) {
    root.querySelectorAll("[data-try][hidden],[data-key-panel][hidden]").forEach(function (part) { part.hidden = false; });
    root.querySelectorAll("[data-try-key]").forEach(function (field) { field.value = key; });
  }
  // Of an answer, as a reader wants it; amounts keep their digits.
  function laid(text) {
    var out = "", depth = 0, inText = false, escaped = false;
    for (var at = 0; at < text.length; at++) {
      var letter = text[at];
      if (inText) {
        out += letter;
        if (escaped) escaped = false;
        else if (letter === "\\") escaped = true;
        else if (letter === '"') inText = false;
      } else if (letter === '"') { inText = true; out += letter; }
      else if (letter === "{" || letter === "[") {
        if (text[at + 1] === "}" || text[at + 1] === "]") { out += letter + text[++at]; continue; }
        out += letter + "\n" + "  ".repeat(++depth);
      } else if (letter === "}" || letter === "]") out += "\n" + "  ".repeat(--depth) + letter;
      else if (letter === ",") out += ",\n" + "  ".repeat(depth);
      else out += letter === ":" ? ": " : letter;
    }
    return out;
  }
  function request(panel, takesKey) {
    var path = panel.dataset.path, query = new URLSearchParams(), headers = {}, missing = "";
    panel.querySelectorAll("[data-in]").forEach(function (field) {
      var value = field.value.trim(), name = field.dataset.name;
      if (field.dataset.in === "path") {
        if (!value) missing = missing || name;
        path = path.replace("{" + name + "}", encodeURIComponent(value));
      } else if (value && field.dataset.in === "query") query.append(name, value);
      else if (value) headers[name] = value;
    });
    if (takesKey && key) headers["X-API-Key"] = key;
    var options = { method: panel.dataset.verb, headers: headers, credentials: "omit", cache: "no-store", redirect: "error" };
    var body = panel.querySelector("[data-body]");
    if (body) {
      headers["Content-Type"] = "application/json";
      options.body = body.value;
    }
    var asked = query.toString();
    return { address: asked ? path + "?" + asked : path, options: options, missing: missing };
  }
  function send(button) {
    var panel = button.closest("[data-try]"), told = panel.querySelector("[data-told]");
    var shown = panel.querySelector("[data-answer]"), takesKey = "takesKey" in button.dataset;
    var one = request(panel, takesKey);
    shown.hidden = true;
    if (takesKey && !key) {
      told.textContent = "Type an API key at the top of the page first.";
      document.querySelector("[data-try-key]").focus();
      return;
    }
    if (one.missing) { told.textContent = "Fill in " + one.missing + " first."; return; }
    button.disabled = true;
    told.textContent = "Sending…";
    var began = performance.now();
    fetch(one.address, one.options).then(function (answer) {
      return answer.text().then(function (text) {
        var id = answer.headers.get("X-Request-Id"), left = answer.headers.get("X-RateLimit-Remaining");
        told.textContent = answer.status + " " + answer.statusText + " in " + Math.round(performance.now() - began) + " ms" +
          (id ? " · request " + id : "") + (left ? " · " + left + " requests left" : "");
        shown.textContent = laid(text);
        shown.hidden = !text;
      });
    }).catch(function () {
      told.textContent = "No answer came: the connection failed, or a header has a character that cannot be sent.";
    }).then(function () { button.disabled = false; });
  }
  document.addEventListener("input", function (event) {
    if (event.target.matches && event.target.matches("[data-try-key]")) key = event.target.value.trim();
  });
  document.addEventListener("click", function (event) {
    var button = event.target.closest && event.target.closest("[data-send]");
    if (button) send(button);
  });
  // What a browser remembered of a page that was left is not a key.
  window.addEventListener("pagehide", function () { key = ""; ready(document); });
  document.addEventListener("htmx:load", function (event) { ready(event.target); });
  ready(document);
})();

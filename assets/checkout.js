// The checkout page: shows by itself how the payment stands, copies the account number, counts the time that is left.
// Without it the page shows the same after a reload.
"use strict";
(function () {
  var main = document.getElementById("checkout");
  var heard = document.getElementById("heard");
  if (!main || !main.dataset.view) return;
  var here = location.pathname.replace(/\/+$/, "");
  var begun = performance.now();
  var isReading = false;
  var isDue = false;

  function say(text) {
    heard.textContent = "";
    setTimeout(function () { heard.textContent = text; }, 50);
  }

  // The page as it is now takes the place of what is shown.
  function refresh() {
    if (isReading) { isDue = true; return; }
    isReading = true;
    fetch(here, { cache: "no-store", headers: { Accept: "text/html" } })
      .then(function (answer) {
        if (answer.status === 404) { location.reload(); }
        if (!answer.ok) throw new Error("not now");
        return answer.text();
      })
      .then(function (text) {
        var page = new DOMParser().parseFromString(text, "text/html");
        var fresh = page.getElementById("checkout");
        if (!fresh || !fresh.dataset.view) throw new Error("no page");
        var hadFocus = main.contains(document.activeElement);
        var before = main.querySelector("h1").textContent;
        fresh = document.importNode(fresh, true);
        main.replaceWith(fresh);
        main = fresh;
        begun = performance.now();
        document.title = page.title;
        dress();
        var heading = main.querySelector("h1");
        if (hadFocus) heading.focus();
        if (heading.textContent !== before) say(heading.textContent);
      })
      .catch(function () { setTimeout(refresh, 5000); })
      .finally(function () {
        isReading = false;
        if (isDue) { isDue = false; refresh(); }
      });
  }

  function dress() {
    main.querySelectorAll("[data-copy]").forEach(function (button) {
      button.hidden = false;
      button.addEventListener("click", function () { copy(button); });
    });
    tick();
  }

  function copy(button) {
    var done = function () {
      button.textContent = "Copied";
      button.classList.add("done");
      say("Account number copied");
      setTimeout(function () { button.textContent = "Copy"; button.classList.remove("done"); }, 2500);
    };
    var select = function () {
      var digits = main.querySelector(".digits");
      var range = document.createRange();
      range.selectNodeContents(digits);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      try { if (document.execCommand("copy")) done(); } catch (none) { /* it stays selected */ }
    };
    if (navigator.clipboard) navigator.clipboard.writeText(button.dataset.copy).then(done, select);
    else select();
  }

  function tick() {
    var left = document.getElementById("left");
    if (!left) return;
    var seconds = Number(left.dataset.seconds) - Math.floor((performance.now() - begun) / 1000);
    var minutes = Math.floor(seconds / 60);
    var rest = seconds % 60;
    var text = "Less than a minute left";
    if (seconds >= 172800) text = Math.floor(seconds / 86400) + " days left";
    else if (minutes >= 60) text = Math.floor(minutes / 60) + " h " + (minutes % 60) + " min left";
    else if (seconds > 0) text = minutes + ":" + (rest < 10 ? "0" : "") + rest + " left";
    if (left.textContent !== text) left.textContent = text;
  }

  var known = main.dataset.view;
  var isFirst = true;
  function told(state) {
    // The first one tells what is shown already.
    if (!isFirst || state.view !== known) refresh();
    isFirst = false;
    known = state.view;
  }

  function ask() {
    fetch(here + "/state", { cache: "no-store" })
      .then(function (answer) {
        if (answer.status === 404) location.reload();
        return answer.ok ? answer.json() : null;
      })
      .then(function (state) { if (state && state.view !== known) told(state); }, function () {});
  }

  function listen() {
    if (!window.EventSource) { setInterval(ask, 10000); return; }
    var source = new EventSource(here + "/events");
    source.addEventListener("state", function (event) { told(JSON.parse(event.data)); });
    source.onerror = function () {
      // The browser comes again by itself, unless it was refused.
      if (source.readyState !== EventSource.CLOSED) return;
      ask();
      setTimeout(listen, 30000);
    };
  }

  dress();
  setInterval(tick, 1000);
  listen();
})();

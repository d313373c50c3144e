// The till: follows what happens in the shop, says at once when it can not, and rings when money is in. It rings for nothing
// but what the service shows as approved: no other code here plays the bell. Without this script the page works by reload.
(function () {
  "use strict";
  var till = document.getElementById("till"), live = document.getElementById("till-live");
  if (!till || !live || !window.EventSource || !window.fetch) return;

  // A connection that says nothing for so long is lost: browsers report it late, or never.
  var SILENCE = 20000;
  // The first word of a connection comes sooner than this.
  var JOIN = 8000;
  var LOOK_EVERY = 30000, GAP = 400, ANSWER_WITHIN = 10000, WAITS = [500, 1000, 2000, 4000, 8000];
  // What one browser keeps of payments that were rung for, or were there before it looked.
  var KNOWN_MAX = 300, KNOWN_FOR = 10 * 60 * 1000;
  // A tab without sound leaves the bell so long to another one.
  var LEAVE_TO_OTHERS = 3000, HELD_FOR = 30000, BETWEEN_RINGS = 1.5;

  var KEY = "tillbell.till." + till.dataset.place;
  var banner = document.getElementById("till-lost"), said = document.getElementById("till-said");
  var state = document.getElementById("till-link");

  function keep(name, value) { try { localStorage.setItem(KEY + name, value); } catch (none) { /* private window */ } }
  function kept(name) { try { return localStorage.getItem(KEY + name); } catch (none) { return null; } }

  // --- The link to the service.
  var source = null, lastWord = Date.now(), joined = false, fresh = false, failed = 0, retry = 0, over = false;
  var skew = 0, asOf = "";

  function show(link) {
    if (till.dataset.link === link) return;
    till.dataset.link = link;
    state.textContent = link === "live" ? "Live" : link === "joining" ? "Connecting" : "Not live";
    var text = "";
    if (link === "lost") {
      text = "No connection. What stands here is " + (asOf ? "of " + asOf : "old") + ". Do not hand out goods by it.";
    } else if (link === "out") {
      text = "You are signed out. This screen does not ring any more.";
    }
    banner.hidden = !text;
    banner.querySelector("span").textContent = text;
    banner.querySelector("a").hidden = link !== "out";
  }
  function look() {
    if (over) return;
    if (joined && fresh) { failed = 0; show("live"); }
  }
  function lost() {
    if (over) return;
    joined = fresh = false;
    if (source) { source.close(); source = null; }
    show("lost");
    clearTimeout(retry);
    retry = setTimeout(join, WAITS[Math.min(failed, WAITS.length - 1)]);
    failed += 1;
  }
  function out() {
    over = true;
    if (source) source.close();
    show("out");
  }
  function word() { lastWord = Date.now(); }
  function join() {
    if (over) return;
    clearTimeout(retry);
    if (source) source.close();
    joined = false;
    word();
    var mine = source = new EventSource(till.dataset.events);
    mine.onerror = function () { if (mine === source) { ask(); lost(); } };
    mine.addEventListener("beat", function () {
      word();
      // What happened before the first word is asked for, not told.
      if (!joined) { joined = true; fresh = false; ask(); }
      look();
    });
    mine.addEventListener("change", function () { word(); ask(); });
    mine.addEventListener("bye", function () { if (mine === source) join(); });
    mine.addEventListener("out", out);
  }
  setInterval(function () {
    if (over) return;
    if (source && Date.now() - lastWord > (joined ? SILENCE : JOIN)) lost();
    count();
  }, 1000);
  window.addEventListener("offline", lost);
  window.addEventListener("online", function () { failed = 0; join(); });
  document.addEventListener("visibilitychange", function () {
    if (document.visibilityState !== "visible" || over) return;
    if (Date.now() - lastWord > SILENCE) lost(); else ask();
    stayAwake();
  });
  // A page that comes back from a browser's memory is old.
  window.addEventListener("pageshow", function (event) { if (event.persisted) { lost(); } });

  // --- What the shop's till shows.
  var asking = false, again = false, due = 0, shown = null;

  function ask() {
    if (over) return;
    if (asking) { again = true; return; }
    asking = true;
    again = false;
    var stop = new AbortController();
    var late = setTimeout(function () { stop.abort(); }, ANSWER_WITHIN);
    fetch(till.dataset.state, { redirect: "manual", cache: "no-store", signal: stop.signal }).then(function (got) {
      if (got.type === "opaqueredirect" || got.status === 403 || got.status === 404) { out(); return null; }
      if (!got.ok) throw new Error("refused");
      return got.text();
    }).then(function (text) {
      if (text === null) return;
      word();
      fresh = joined;
      put(text);
      look();
    }).catch(function () {
      if (joined) lost();
    }).then(function () {
      clearTimeout(late);
      setTimeout(function () { asking = false; if (again) ask(); }, GAP);
    });
  }
  function put(text) {
    if (text !== shown) {
      var at = document.activeElement, held = at && live.contains(at) ? at.id : "";
      live.innerHTML = text;
      shown = text;
      if (held) { var same = document.getElementById(held); if (same) same.focus(); }
    }
    var now = live.querySelector("[data-now]");
    if (!now) return;
    skew = Number(now.dataset.now) - Date.now();
    asOf = now.dataset.clock;
    clearTimeout(due);
    due = setTimeout(ask, Math.min(LOOK_EVERY, Math.max(1000, Number(now.dataset.again) * 1000)));
    count();
    hear();
  }
  // How long a customer still has.
  function count() {
    live.querySelectorAll("[data-until]").forEach(function (one) {
      var left = Math.max(0, Math.floor((Number(one.dataset.until) - Date.now() - skew) / 1000));
      var minutes = Math.floor(left / 60), hours = Math.floor(minutes / 60);
      var text = hours ? hours + " h " + (minutes % 60) + " min" : minutes ? minutes + " min" : left + " s";
      text += " left";
      if (one.textContent !== text) one.textContent = text;
    });
  }

  // --- The bell. Payments that this tab knows; the browser's tabs share what was rung for.
  var known = null, unheard = [], rings = 0, free = 0;

  function shared() {
    var read = null;
    try { read = JSON.parse(kept(".known") || "null"); } catch (none) { /* somebody else's */ }
    return read && Array.isArray(read.ids) && Math.abs(Date.now() - read.at) < KNOWN_FOR ? read.ids : null;
  }
  function share(ids) {
    var all = (shared() || []).filter(function (id) { return ids.indexOf(id) < 0; }).concat(ids);
    keep(".known", JSON.stringify({ at: Date.now(), ids: all.slice(-KNOWN_MAX) }));
  }
  // Acts in one tab alone, where the browser lets tabs claim something: what tabs keep is told to one another later.
  function claim(id, act) {
    if (!navigator.locks) { act(); return; }
    navigator.locks.request(KEY + "." + id, { ifAvailable: true }, function (lock) {
      if (!lock || (shared() || []).indexOf(id) >= 0) return null;
      act();
      return new Promise(function (done) { setTimeout(done, HELD_FOR); });
    });
  }
  function hear() {
    var paid = Array.from(live.querySelectorAll("[data-ring]"));
    var ids = paid.map(function (one) { return one.dataset.ring; });
    if (known === null) {
      // A browser that had the till open a moment ago rings for what it missed; another one begins with what is there.
      var before = shared();
      known = before || ids;
      if (!before) share(ids);
    }
    var news = paid.filter(function (one) { return known.indexOf(one.dataset.ring) < 0; });
    var fresh = news.map(function (one) { return one.dataset.ring; });
    known = known.concat(fresh).slice(-KNOWN_MAX);
    share([]);
    if (!fresh.length) return;
    news.forEach(tell);
    if (canPlay()) play(fresh);
    else if (kept(".sound") === "on") unheard = unheard.concat(fresh).slice(-KNOWN_MAX);
    else setTimeout(function () { share(fresh); }, LEAVE_TO_OTHERS);
  }
  // What is told later than it happened, and stands in the list alone.
  var missed = document.getElementById("till-missed"), unsaid = 0;
  function miss(text) {
    missed.textContent = missed.hidden ? "While this screen was not live. " + text : missed.textContent + "; " + text;
    missed.hidden = false;
    clearTimeout(unsaid);
    unsaid = setTimeout(function () { missed.hidden = true; }, 60000);
  }
  // Rings for those that no tab of this browser has rung for, one after the other.
  function play(ids) {
    var done = shared() || [];
    ids.filter(function (id) { return done.indexOf(id) < 0; }).forEach(function (id) {
      claim(id, function () {
        free = Math.max(sound.currentTime, free);
        bell(free);
        free += BETWEEN_RINGS;
        rings += 1;
        till.dataset.rang = String(rings);
        till.dataset.rangFor = id;
        share([id]);
      });
    });
  }
  function tell(one) {
    said.textContent = one.dataset.say;
    if ("old" in one.dataset) miss(one.dataset.say);
    if (navigator.vibrate) navigator.vibrate([200, 100, 200]);
    var at = document.activeElement;
    var isTyping = at && at.tagName === "INPUT" && at.value;
    var card = live.querySelector(".sale-good");
    if (card && !isTyping) card.scrollIntoView({ block: "nearest" });
  }
  var sound = null, soundButton = document.getElementById("till-sound");

  function canPlay() { return !!sound && sound.state === "running"; }
  // A desk bell, struck twice: partials that are no multiples of one another, each fading by itself.
  var PARTIALS = [[1, 0.5, 1.6], [2.01, 0.32, 1.1], [2.78, 0.22, 0.8], [4.1, 0.14, 0.5], [5.43, 0.1, 0.35]];

  function strike(at, pitch, force) {
    PARTIALS.forEach(function (part) {
      var tone = sound.createOscillator(), gain = sound.createGain();
      tone.frequency.value = pitch * part[0];
      gain.gain.setValueAtTime(0, at);
      gain.gain.linearRampToValueAtTime(force * part[1], at + 0.004);
      gain.gain.exponentialRampToValueAtTime(0.0001, at + part[2]);
      tone.connect(gain).connect(sound.destination);
      tone.start(at);
      tone.stop(at + part[2]);
      tone.onended = function () { gain.disconnect(); };
    });
  }
  function bell(at) { strike(at, 1396.9, 0.6); strike(at + 0.22, 1760, 0.8); }
  // Says that sound is on. It is nothing like the bell, which nobody is to hear but for money.
  function tick() {
    var at = sound.currentTime, tone = sound.createOscillator(), gain = sound.createGain();
    tone.type = "triangle";
    tone.frequency.value = 220;
    gain.gain.setValueAtTime(0.25, at);
    gain.gain.exponentialRampToValueAtTime(0.0001, at + 0.08);
    tone.connect(gain).connect(sound.destination);
    tone.start(at);
    tone.stop(at + 0.09);
    tone.onended = function () { gain.disconnect(); };
  }
  function tellSound() {
    var wants = kept(".sound") === "on", plays = canPlay();
    till.dataset.sound = plays ? "on" : wants ? "waits" : "off";
    soundButton.setAttribute("aria-pressed", String(plays));
    soundButton.querySelector("span").textContent = plays ? "Sound is on" : wants ? "Tap for sound" : "Switch on sound";
  }
  function soundOn() {
    var Context = window.AudioContext || window.webkitAudioContext;
    if (!Context) return;
    if (!sound) {
      sound = new Context();
      sound.onstatechange = tellSound;
    }
    keep(".sound", "on");
    sound.resume().then(function () {
      tellSound();
      // What came while no sound was allowed, and still stands here as just paid.
      var late = unheard.filter(function (id) { return live.querySelector('[data-ring="' + CSS.escape(id) + '"]'); });
      unheard = [];
      if (late.length) play(late); else tick();
    }, tellSound);
  }
  function soundOff() {
    keep(".sound", "off");
    if (sound) { sound.close(); sound = null; free = 0; }
    tellSound();
  }
  if (window.AudioContext || window.webkitAudioContext) {
    soundButton.hidden = false;
    soundButton.addEventListener("click", function () { if (canPlay()) soundOff(); else soundOn(); });
    // After a reload browsers ask for a tap again: any will do.
    ["pointerdown", "keydown"].forEach(function (kind) {
      document.addEventListener(kind, function (event) {
        if (kept(".sound") !== "on" || canPlay() || soundButton.contains(event.target)) return;
        soundOn();
      });
    });
    tellSound();
  }

  // --- The screen stays on, where that is wished for.
  var wakeButton = document.getElementById("till-wake"), held = null;

  function tellWake() {
    wakeButton.setAttribute("aria-pressed", String(!!held));
    wakeButton.querySelector("span").textContent = held ? "Screen stays on" : "Keep screen on";
    till.dataset.wake = held ? "on" : "off";
  }
  function stayAwake() {
    if (!navigator.wakeLock || kept(".wake") !== "on" || held) return;
    navigator.wakeLock.request("screen").then(function (lock) {
      held = lock;
      lock.addEventListener("release", function () { held = null; tellWake(); });
      tellWake();
    }, tellWake);
  }
  if (navigator.wakeLock) {
    wakeButton.hidden = false;
    wakeButton.addEventListener("click", function () {
      if (held) { keep(".wake", "off"); held.release(); } else { keep(".wake", "on"); stayAwake(); }
    });
    tellWake();
    stayAwake();
  }

  // --- A sale is asked for without leaving the page: browsers let a new page make no sound until somebody taps it.
  document.addEventListener("submit", function (event) {
    var form = event.target, part = form.closest(".till-form");
    if (event.defaultPrevented || !part || form.method !== "post") return;
    event.preventDefault();
    // What an earlier try came to is over: its answer may come after the sale stands in the list.
    if (missed.dataset.sale) { delete missed.dataset.sale; missed.hidden = true; }
    var sent = { method: "POST", body: new URLSearchParams(new FormData(form)), cache: "no-store" };
    fetch(form.action, sent).then(function (got) {
      if (new URL(got.url).pathname !== location.pathname) { location.assign(got.url); return null; }
      return got.text().then(function (text) { return { at: got.url, page: new DOMParser().parseFromString(text, "text/html") }; });
    }).then(function (got) {
      if (!got) return;
      var fresh = got.page.querySelector(".till-form"), now = got.page.getElementById("till-live");
      if (!fresh || !now) { location.assign(got.at); return; }
      history.replaceState(null, "", got.at);
      till.dataset.state = got.page.body.dataset.state;
      part.innerHTML = fresh.innerHTML;
      still();
      put(now.innerHTML);
      asked();
      var first = part.querySelector("[aria-invalid]") || (matchMedia("(pointer:fine)").matches && part.querySelector("input:not([type=hidden])"));
      if (first) first.focus();
    }).catch(function () {
      delete form.dataset.going;
      lost();
      missed.textContent = "The sale was not asked for, because there is no connection. Try again.";
      missed.dataset.sale = "1";
      missed.hidden = false;
      clearTimeout(unsaid);
      unsaid = setTimeout(function () { missed.hidden = true; }, 60000);
    });
  });
  // What was just asked for stands below the form on a phone.
  function asked() {
    var waits = live.querySelector(".sale-waits");
    if (waits && /[?&]sale=/.test(location.search)) waits.scrollIntoView({ block: "nearest" });
  }
  function still() { document.getElementById("till-still").hidden = true; }

  still();
  shown = live.innerHTML;
  show("joining");
  put(shown);
  asked();
  join();
})();

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

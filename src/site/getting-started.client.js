// Puts a button beside each listing that copies it. Without this script everything is there but the buttons.

import { copyButton } from "./copy-button.js";

const guide = document.querySelector("[data-copy]");
const said = document.getElementById("copied");

function tell(words) {
  said.textContent = words;
}

for (const listing of guide.querySelectorAll("pre")) {
  const name = listing.closest("figure").getAttribute("aria-label");
  listing.previousElementSibling.append(copyButton(listing, { name, words: guide.dataset, tell }));
}

// Puts a button beside each listing that copies it: what is pasted is what stands there, without the lines' ends on
// the screen. Without this script everything is there but the buttons.

const guide = document.querySelector("[data-copy]");
const said = document.getElementById("copied");

/** Where the page came over plain http, browsers have no clipboard for it: the text is selected and copied as by hand. */
async function copy(listing) {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(listing.textContent);
  getSelection().selectAllChildren(listing);
  document.execCommand("copy");
  getSelection().removeAllRanges();
}

for (const listing of guide.querySelectorAll("pre")) {
  const name = listing.closest("figure").getAttribute("aria-label");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = guide.dataset.copy;
  button.setAttribute("aria-label", `${guide.dataset.copy}: ${name}`);
  button.addEventListener("click", async () => {
    await copy(listing);
    button.textContent = guide.dataset.copied;
    said.textContent = `${guide.dataset.copied}: ${name}`;
    setTimeout(() => {
      button.textContent = guide.dataset.copy;
    }, 2_000);
  });
  listing.previousElementSibling.append(button);
}

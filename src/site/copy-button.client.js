// A button that copies the exact text of an element, without the line ends of the screen.

const shownMs = 2_000;

/** A page over plain http has no clipboard: the text is selected and copied as a reader would. */
async function copy(element) {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(element.textContent);
  getSelection().selectAllChildren(element);
  const isDone = document.execCommand("copy");
  getSelection().removeAllRanges();
  if (!isDone) throw new Error("the browser copied nothing");
}

/**
 * Makes the button of an element.
 * @param name the element's name, for a screen reader
 * @param words the button's texts: copy, copied, copyFailed
 * @param tell shows the outcome in words
 */
export function copyButton(element, { name, words, tell = () => {} }) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = words.copy;
  button.setAttribute("aria-label", `${words.copy}: ${name}`);
  button.addEventListener("click", async () => {
    const said = await copy(element).then(
      () => words.copied,
      () => words.copyFailed,
    );
    button.textContent = said;
    tell(`${said}: ${name}`);
    setTimeout(() => {
      button.textContent = words.copy;
    }, shownMs);
  });
  return button;
}

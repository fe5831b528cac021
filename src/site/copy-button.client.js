// A button that copies an element's text as it is, without the line breaks that the screen shows.

const shownMs = 2_000;

/** Copies an element's text. A page over plain HTTP has no `navigator.clipboard`, so the text is selected and then copied. */
async function copy(element) {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(element.textContent);
  getSelection().selectAllChildren(element);
  const isDone = document.execCommand("copy");
  getSelection().removeAllRanges();
  if (!isDone) throw new Error("the browser copied nothing");
}

/**
 * Makes the button that copies an element's text.
 * @param name the element's name, for a screen reader
 * @param words the button's labels: `copy`, `copied`, `copyFailed`
 * @param tell receives the result as a sentence, such as "Copied: NAME"
 */
export function createCopyButton(element, { name, words, tell = () => {} }) {
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

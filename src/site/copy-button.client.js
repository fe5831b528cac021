// A button that copies what stands in an element exactly, without the ends that its lines have on the screen.

const shownMs = 2_000;

/** Where a page came over plain http, browsers have no clipboard for it: the text is selected and copied as by hand. */
async function copy(element) {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(element.textContent);
  getSelection().selectAllChildren(element);
  const isDone = document.execCommand("copy");
  getSelection().removeAllRanges();
  if (!isDone) throw new Error("the browser copies nothing");
}

/**
 * @param element what is copied
 * @param name what it is, for who hears the button
 * @param words what the button says: copy, copied, copyFailed
 * @param tell told in words that it was copied
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

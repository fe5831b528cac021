/** What comes in by the forms: files that are opened or dropped, and the press of a button. */

import { byId } from "./dom.ts";

/** A file input inside an area that takes dropped files as well. */
export function onFiles(id: string, act: (files: readonly File[]) => void): void {
  const input = byId(id, HTMLInputElement);
  const area = input.closest(".drop") ?? input;
  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    // The same file can then be opened again, once it was mended.
    input.value = "";
    if (files.length > 0) act(files);
  });
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    const files = [...((event as DragEvent).dataTransfer?.files ?? [])];
    if (files.length > 0) act(files);
  });
  area.addEventListener("dragover", () => area.classList.add("over"));
  area.addEventListener("dragleave", () => area.classList.remove("over"));
}

export function onSubmit(id: string, act: () => void): void {
  byId(id, HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    act();
  });
}

/** Files that are dropped anywhere else; the browser must not leave the page and show them. */
export function onDrops(act: (files: readonly File[]) => void): void {
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => {
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0 && !event.defaultPrevented) act(files);
    event.preventDefault();
  });
}

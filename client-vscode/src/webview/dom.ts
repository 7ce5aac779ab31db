// Makes elements of the page. Text only ever becomes text nodes; there is no HTML from strings.

type Attributes = Record<string, string | boolean | undefined>;

/** An element with attributes (`true` is an empty one, `false` and undefined are none) and children; strings are texts. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string | undefined)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.filter((one) => one !== undefined));
  return made;
}

/** A button. `look` is its style: the one thing to do next, any other, or a link in running text. */
export function button(
  text: string,
  act: () => void,
  look: "primary" | "secondary" | "link" = "secondary",
  attributes: Attributes = {},
): HTMLButtonElement {
  const made = el("button", { type: "button", class: look, ...attributes }, text);
  made.addEventListener("click", ({ detail }) => {
    if (detail < 2) {
      act(); // the second click of a double click was meant for what stood here before
    }
  });
  return made;
}

const ADDRESS = /https?:\/\/[^\s<>"'`()[\]{}]*[^\s<>"'`()[\]{}.,;:!?*]/g;

/** A text whose web addresses can be followed. VS Code opens them, and asks first where it does not trust one. */
export function linked(text: string): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let end = 0;
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    parts.push(text.slice(end, index), el("a", { href: address }, address));
    end = index + address.length;
  }
  return [...parts, text.slice(end)];
}

/** Puts children in the place of all that an element holds. */
export function fill(parent: Element, ...children: (Node | undefined)[]): void {
  parent.replaceChildren(...children.filter((one) => one !== undefined));
}

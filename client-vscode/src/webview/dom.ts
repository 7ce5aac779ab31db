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
  made.addEventListener("click", act);
  return made;
}

/** Puts children in the place of all that an element holds. */
export function fill(parent: Element, ...children: (Node | undefined)[]): void {
  parent.replaceChildren(...children.filter((one) => one !== undefined));
}

// The words people read, in their language: English sentences are the keys, `{0}` stands for a value.

export type Value = string | number;
export type Translator = (sentence: string, ...values: Value[]) => string;

let translator: Translator = filled;

/** A sentence in the user's language. Call it with a string literal: `npm run texts` collects them. */
export function t(sentence: string, ...values: Value[]): string {
  return translator(sentence, ...values);
}

/** Has another translator speak from now on; VS Code's, when the extension starts. */
export function speakWith(other: Translator): void {
  translator = other;
}

function filled(sentence: string, ...values: Value[]): string {
  return sentence.replace(/\{(\d+)\}/g, (hole, index) => String(values[Number(index)] ?? hole));
}

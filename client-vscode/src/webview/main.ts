// The page of the sessions panel: shows what the extension tells, and tells it what the user does.
import "./panel.css";
import { type FromPage, isToPage } from "../panel/messages";
import type { PanelState } from "../panel/state";
import { speakWith, type Value } from "../text";
import { ConversationPage } from "./conversation";
import { el, fill } from "./dom";
import { SessionList } from "./session-list";
import { watchScrolling } from "./windowed-list";

declare function acquireVsCodeApi(): { postMessage(said: FromPage): void };

const { postMessage } = acquireVsCodeApi();
const tell = (said: FromPage) => postMessage(said);
const root = el("main");
let list: SessionList | undefined;
let page: ConversationPage | undefined;

/** Made when the words are known. */
function views(): [SessionList, ConversationPage] {
  list ??= new SessionList(tell);
  page ??= new ConversationPage(tell, watchScrolling);
  return [list, page];
}

function show(state: PanelState): void {
  const [sessions, conversation] = views();
  const wanted = state.open === undefined ? sessions.element : conversation.element;
  const changed = wanted.parentElement !== root;
  if (state.open === undefined) {
    sessions.show(state);
  } else {
    conversation.show(state.open);
  }
  if (changed) {
    const hadFocus = document.hasFocus();
    fill(root, wanted);
    if (hadFocus) {
      state.open === undefined ? sessions.focus() : conversation.focus();
    }
  }
}

function speak(words: Record<string, string>): void {
  speakWith((sentence: string, ...values: Value[]) =>
    (words[sentence] ?? sentence).replace(/\{(\d+)\}/g, (hole, index) => String(values[Number(index)] ?? hole)),
  );
}

window.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
  if (!isToPage(data)) {
    return;
  }
  switch (data.type) {
    case "words":
      return speak(data.words);
    case "state":
      return show(data.state);
    case "rows":
      return views()[1].showRows(data.rows);
    case "text":
      return views()[1].showText(data.index, data.text);
    case "show":
      return views()[1].focus(data.index);
  }
});

document.body.append(root);
tell({ type: "ready" });

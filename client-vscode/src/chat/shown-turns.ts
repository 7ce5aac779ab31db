// The turns of a chat as VS Code tells them.
import * as vscode from "vscode";
import type { ShownTurn } from "./turns";
import { typedCommand } from "./typed-command";

/** The turns that a chat shows before the one that is asked for. */
export function shownTurns(history: vscode.ChatContext["history"]): ShownTurn[] {
  const turns: ShownTurn[] = [];
  for (const one of history) {
    if (one instanceof vscode.ChatRequestTurn) {
      const { command } = typedCommand(one);
      turns.push({ prompt: one.prompt, command, answer: "", failed: false, metadata: undefined });
    } else {
      const turn = turns.at(-1);
      if (turn !== undefined) {
        turn.answer = textOf(one);
        turn.failed = one.result.errorDetails !== undefined;
        turn.metadata = one.result.metadata;
      }
    }
  }
  return turns;
}

function textOf({ response }: vscode.ChatResponseTurn): string {
  return response.map((part) => (part instanceof vscode.ChatResponseMarkdownPart ? part.value.value : "")).join("");
}

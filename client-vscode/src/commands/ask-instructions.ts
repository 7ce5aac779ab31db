// Answers `lithify/askInstructions`: an input box for what a compaction should heed.
import * as vscode from "vscode";
import type { Instructions, InstructionsQuestion } from "../protocol";
import type { Server } from "../server/server";
import { t } from "../text";

export function answerInstructions(server: Server): void {
  server.prepare((client) => {
    client.onRequest(
      "lithify/askInstructions",
      async ({ title, note }: InstructionsQuestion, token: vscode.CancellationToken): Promise<Instructions> => {
        const asked = t("What should the summary heed? Empty: nothing in particular. Escape: do not compact.");
        const box = { title, prompt: note ? `${note} ${asked}` : asked };
        const placeHolder = t("keep the names of the failing tests");
        const instructions = await vscode.window.showInputBox({ ...box, placeHolder, ignoreFocusOut: true }, token);
        return { instructions: instructions ?? null };
      },
    );
  });
}

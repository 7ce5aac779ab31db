// Files and texts that the user attached to a prompt, kept like uses of a tool: what names an excluded path is not recorded.
import * as vscode from "vscode";
import { t } from "../text";
import type { ToolUse } from "./history";

const MOST_CHARACTERS = 100_000;

/** The attachments of a prompt, in the order they were attached. One that cannot be read says why. */
export async function attachments(
  references: readonly vscode.ChatPromptReference[],
  newId: () => string,
): Promise<ToolUse[]> {
  const found: ToolUse[] = [];
  for (const { value } of references) {
    const place = value instanceof vscode.Uri ? { uri: value } : value instanceof vscode.Location ? value : undefined;
    if (place !== undefined) {
      const input = { file_path: vscode.workspace.asRelativePath(place.uri, false) };
      found.push({ callId: newId(), name: "attached_file", input, result: await read(place) });
    } else if (typeof value === "string") {
      found.push({ callId: newId(), name: "attached_text", input: {}, result: cut(value) });
    }
  }
  return found;
}

async function read({ uri, range }: { uri: vscode.Uri; range?: vscode.Range }): Promise<string> {
  try {
    return cut((await vscode.workspace.openTextDocument(uri)).getText(range));
  } catch (error) {
    return `Error: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function cut(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}\n${t("[cut off here]")}` : text;
}

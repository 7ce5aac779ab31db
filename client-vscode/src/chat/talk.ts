// One turn with the chosen model: the history goes in, its answer is streamed out, tools that the user named are run.
import * as vscode from "vscode";
import { countTokens } from "../models/offline-answer";
import type { Message } from "../protocol";
import { t } from "../text";
import { forModel, newestWithin, type ToolUse } from "./history";

const MOST_ROUNDS = 10;

/** What came of a turn: the answer's text, and the tools that were used before it. */
export interface Talked {
  text: string;
  toolUses: ToolUse[];
}

/** Has the model answer. `talked` is filled as it goes, so that what was said before an error is kept. */
export async function talk(
  request: vscode.ChatRequest,
  history: readonly Message[],
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
  talked: Talked,
): Promise<void> {
  const messages = asModelMessages(request.model, history, stream);
  const named = new Set(request.toolReferences.map((one) => one.name));
  const tools = vscode.lm.tools.filter((tool) => named.has(tool.name));
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const calls = await ask(request.model, messages, tools, stream, token, talked);
    if (calls.length === 0) {
      return;
    }
    const said = talked.text;
    messages.push(assistant([...(said === "" ? [] : [new vscode.LanguageModelTextPart(said)]), ...calls]));
    for (const [index, call] of calls.entries()) {
      const result = await useTool(request, call, token);
      messages.push(
        user([new vscode.LanguageModelToolResultPart(call.callId, [new vscode.LanguageModelTextPart(result)])]),
      );
      const { callId, name, input } = call;
      talked.toolUses.push({ callId, name, input, result, said: index === 0 ? said : undefined });
    }
    talked.text = ""; // it stands before the call now
  }
  throw new Error(t("The model went on calling tools after {0} rounds; it was stopped.", MOST_ROUNDS));
}

function asModelMessages(
  model: vscode.LanguageModelChat,
  history: readonly Message[],
  stream: vscode.ChatResponseStream,
): vscode.LanguageModelChatMessage[] {
  const all = forModel(history);
  const kept = newestWithin(all, model.maxInputTokens, countTokens);
  if (kept.length < all.length) {
    const left = all.length - kept.length;
    stream.markdown(
      `*${t("{0} messages do not fit the model and are left out; /compact makes room, a larger model has more.", left)}*\n\n`,
    );
  }
  return kept.map(({ role, text }) => {
    const part = [new vscode.LanguageModelTextPart(text)];
    return role === "assistant" ? assistant(part) : user(part);
  });
}

function user(parts: (vscode.LanguageModelTextPart | vscode.LanguageModelToolResultPart)[]) {
  return vscode.LanguageModelChatMessage.User(parts);
}

function assistant(parts: (vscode.LanguageModelTextPart | vscode.LanguageModelToolCallPart)[]) {
  return vscode.LanguageModelChatMessage.Assistant(parts);
}

async function ask(
  model: vscode.LanguageModelChat,
  messages: vscode.LanguageModelChatMessage[],
  tools: vscode.LanguageModelChatTool[],
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
  talked: Talked,
): Promise<vscode.LanguageModelToolCallPart[]> {
  const response = await model.sendRequest(messages, tools.length > 0 ? { tools } : {}, token);
  const calls: vscode.LanguageModelToolCallPart[] = [];
  for await (const part of response.stream) {
    if (part instanceof vscode.LanguageModelTextPart) {
      stream.markdown(part.value);
      talked.text += part.value;
    } else if (part instanceof vscode.LanguageModelToolCallPart) {
      calls.push(part);
    }
  }
  return calls;
}

/** A tool's result as text; that of one that fails is its error, which the model should see. */
async function useTool(
  request: vscode.ChatRequest,
  call: vscode.LanguageModelToolCallPart,
  token: vscode.CancellationToken,
): Promise<string> {
  const options = { input: call.input, toolInvocationToken: request.toolInvocationToken };
  try {
    const { content } = await vscode.lm.invokeTool(call.name, options, token);
    return content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : "")).join("");
  } catch (error) {
    if (token.isCancellationRequested) {
      throw error;
    }
    return `Error: ${error instanceof Error ? error.message : String(error)}`;
  }
}

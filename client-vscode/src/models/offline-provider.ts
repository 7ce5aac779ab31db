// The language model provider "Lithify offline": with it, chats with @lithify work where there is no account at all.
import * as vscode from "vscode";
import { t } from "../text";
import { OWN_VENDOR } from "./choosing";
import { countTokens, offlineAnswer } from "./offline-answer";

type Message = vscode.LanguageModelChatRequestMessage;

export function registerOfflineModel(): vscode.Disposable {
  const registered = vscode.lm.registerLanguageModelChatProvider(OWN_VENDOR, {
    provideLanguageModelChatInformation: () => [
      {
        id: "lithify-offline",
        name: t("Lithify offline"),
        family: "lithify-offline",
        version: "1",
        tooltip: t("No language model: for compaction and memory without an account"),
        maxInputTokens: 128_000,
        maxOutputTokens: 1_000,
        capabilities: { toolCalling: true }, // it calls none, but in agent mode VS Code offers no model that says so
      },
    ],
    provideLanguageModelChatResponse: async (_model, messages, _options, progress) => {
      const last = messages.findLast((one) => one.role === vscode.LanguageModelChatMessageRole.User);
      progress.report(new vscode.LanguageModelTextPart(offlineAnswer(last === undefined ? "" : textOf(last))));
    },
    provideTokenCount: async (_model, text) => countTokens(typeof text === "string" ? text : textOf(text)),
  });
  // VS Code asks providers late; until it knows a model it refuses every chat. This asks ours alone.
  vscode.lm.selectChatModels({ vendor: OWN_VENDOR });
  return registered;
}

function textOf(message: Message): string {
  return message.content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : "")).join("\n");
}

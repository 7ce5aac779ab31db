// A language model for tests: it answers at once, unless its gate is shut, which is a file that the test made. What waits
// at the gate, and what was cancelled there, stands in a file beside it.
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

const GATE = process.env.SCRIPTED_MODEL_GATE;
let answers = 0;

function activate(context) {
  context.subscriptions.push(
    vscode.lm.registerLanguageModelChatProvider("scripted", {
      provideLanguageModelChatInformation: () => [
        model("scripted", "Scripted", 128_000),
        model("small", "Small window", 900),
      ],
      provideLanguageModelChatResponse: async (_model, messages, _options, progress, token) => {
        await opened(token);
        await say(messages, progress);
      },
      provideTokenCount: async (_model, text) => Math.ceil(textOf(text).length / 4),
    }),
  );
  vscode.lm.selectChatModels({ vendor: "scripted" }); // VS Code asks providers late
}

function model(id, name, maxInputTokens) {
  const capabilities = { toolCalling: true };
  return {
    id,
    name,
    family: id,
    version: "1",
    maxInputTokens,
    maxOutputTokens: 8_000,
    isUserSelectable: true,
    capabilities,
  };
}

/** Resolves when the gate is open; rejects when the request is cancelled. */
function opened(token) {
  return new Promise((resolve, reject) => {
    if (GATE === undefined || !fs.existsSync(GATE)) {
      resolve();
      return;
    }
    fs.appendFileSync(`${GATE}.log`, "waits\n");
    const watcher = fs.watch(path.dirname(GATE), () => fs.existsSync(GATE) || done(resolve));
    const stop = token.onCancellationRequested(() => {
      fs.appendFileSync(`${GATE}.log`, "cancelled\n");
      done(() => reject(new vscode.CancellationError()));
    });
    const done = (end) => {
      watcher.close();
      stop.dispose();
      end();
    };
  });
}

async function say(messages, progress) {
  const all = messages.map(textOf).join("\n");
  progress.report(new vscode.LanguageModelTextPart(answerTo(all)));
}

/** A summary, memory records, or the answer to a chat, after what is asked for. */
function answerTo(asked) {
  answers += 1;
  if (asked.includes("<memory_record")) {
    return records();
  }
  if (/compact|current_focus|summar/i.test(asked)) {
    return summary(answers);
  }
  return `Answer ${answers}: the checkout reads \`total\`, and cart.py returns \`sum\`. ${"It is renamed in one place only. ".repeat(60)}`;
}

function summary(number) {
  return [
    "<current_focus>\nRepair the checkout test without changing it\n</current_focus>",
    "<environment>\n- Python 3.12, pytest, the shop project\n</environment>",
    "<completed_tasks>\n- Found the cause: commit 4f1c2d renamed `total` to `sum`\n</completed_tasks>",
    "<active_issues>\n- None\n</active_issues>",
    "<code_state>\n<file>\nshop/cart.py\n`checkout` returns `total` again\n</file>\n</code_state>",
    `<important_context>\n- Draft ${number} of the scripted model\n</important_context>`,
  ].join("\n\n");
}

function records() {
  return `<memory_record type="discovery">
<title>The checkout needs total</title>
<summary>checkout() must return the key total; a rename to sum broke the test.</summary>
<facts><fact>commit 4f1c2d renamed the key</fact></facts>
<concepts><concept>checkout</concept></concepts>
<files><file>shop/cart.py</file></files>
</memory_record>`;
}

function textOf(message) {
  if (typeof message === "string") {
    return message;
  }
  return message.content.map((part) => (part instanceof vscode.LanguageModelTextPart ? part.value : "")).join("\n");
}

module.exports = { activate };

// Stands for the Python extension, as far as others ask it: the interpreter that is chosen is named by a file.
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

const CHOICE = process.env.CHOSEN_PYTHON;

function activate(context) {
  const changed = new vscode.EventEmitter();
  const watcher = fs.watch(path.dirname(CHOICE), () => changed.fire({ path: chosen() }));
  context.subscriptions.push(changed, { dispose: () => watcher.close() });
  return {
    environments: {
      onDidChangeActiveEnvironmentPath: changed.event,
      getActiveEnvironmentPath: () => ({ id: "chosen", path: chosen() }),
      resolveEnvironment: async (one) => ({ executable: { uri: vscode.Uri.file(one.path) } }),
    },
  };
}

function chosen() {
  return fs.readFileSync(CHOICE, "utf8").trim();
}

module.exports = { activate };

// Starts `warpline lsp`; the server does everything else.

const { commands, workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

/** @type {LanguageClient | undefined} */
let client;

function start() {
  const settings = workspace.getConfiguration("warpline");
  const server = { command: settings.get("path", "warpline"), args: ["lsp"], transport: TransportKind.stdio };
  client = new LanguageClient("warpline", "warpline", server, {
    documentSelector: [{ scheme: "file", language: "pipe" }],
    initializationOptions: {
      machine: settings.get("machine", ""),
      runSeconds: settings.get("runSeconds", 10),
      verifySeconds: settings.get("verifySeconds", 20),
    },
  });
  return client.start();
}

async function restart() {
  await client?.stop();
  await start();
}

exports.activate = async function activate(context) {
  context.subscriptions.push(commands.registerCommand("warpline.restart", restart));
  const changed = (event) => event.affectsConfiguration("warpline") && restart();
  context.subscriptions.push(workspace.onDidChangeConfiguration(changed));
  await start();
};

exports.deactivate = () => client?.stop();

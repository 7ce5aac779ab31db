--- Lithify in Neovim: `setup()` starts the server for transcripts, `statusline()` tells how things stand.

local M = {}

--- Starts the server for transcripts from now on. Options, all optional:
---   cmd        the command, default { "lithify", "serve" }
---   filetypes  where it is attached, default { "json", "jsonl", "markdown" }
---   settings   Lithify's settings, nested, such as { model = { provider = "offline" } }
---   codelens   whether lenses are drawn, default true
---   progress   whether the status line tells progress, default true
---@param options table?
function M.setup(options)
  vim.filetype.add({ extension = { traj = "json" } })
  vim.lsp.config("lithify", require("lithify.config").lsp(options or {}))
  vim.lsp.enable("lithify")
end

--- What to put into the status line, such as "lithify: 2 waiting, 34 remembered"; empty where no server runs.
---@return string
function M.statusline()
  return require("lithify.status").line()
end

--- Tells the server something, such as "lithify/didAppendMessages" of a chat of your own.
---@param method string
---@param params table
function M.notify(method, params)
  require("lithify.server").get():notify(method, params)
end

--- Runs a command of the server, such as "lithify.compact_conversation". Its result comes to `done`; a failure is shown.
---@param name string
---@param argument table
---@param done fun(result: table)
function M.run(name, argument, done)
  require("lithify.server").run(name, argument, done)
end

return M

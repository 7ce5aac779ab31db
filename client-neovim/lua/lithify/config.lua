--- The configuration of the language server, made of the options of `setup()`.

local M = {}

--- What this plugin answers, of what a server may ask or tell.
local CLIENT = { bufferStatus = true, sessionChanged = true, askInstructions = true }

local defaults = {
  cmd = { "lithify", "serve" },
  filetypes = { "json", "jsonl", "markdown" },
  settings = {},
  codelens = true,
  progress = true,
}

--- The options in force, and whether `setup()` was called.
M.options, M.is_set_up = defaults, false

--- The question of a compaction with instructions. The client runs this in a coroutine; an input window may answer later.
local function ask_instructions(_, asked)
  local waiting, answer = coroutine.running(), nil
  if asked.note then
    require("lithify.server").say(asked.note, vim.log.levels.WARN)
  end
  vim.ui.input({ prompt = asked.title .. ": " }, function(text)
    answer = { instructions = text or vim.NIL }
    if coroutine.status(waiting) == "suspended" then
      coroutine.resume(waiting)
    end
  end)
  if not answer then
    coroutine.yield()
  end
  return answer
end

--- A preview is shown beside its chat, in one window for all of them.
local function show_document(failure, asked, context)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.w[window].lithify_preview then
      vim.api.nvim_set_current_win(window)
    end
  end
  if not vim.w.lithify_preview then
    vim.cmd("rightbelow split")
    vim.w.lithify_preview = true
  end
  local answer = vim.lsp.handlers["window/showDocument"](failure, asked, context)
  vim.keymap.set("n", "q", "<cmd>close<cr>", { buffer = 0, nowait = true })
  return answer
end

--- Lenses follow the text; an editor draws them only when it is told to.
local function draw_lenses(_, buffer)
  local function refresh()
    vim.lsp.codelens.refresh({ bufnr = buffer })
  end
  local group = vim.api.nvim_create_augroup("lithify.lenses." .. buffer, {})
  local moments = { "BufEnter", "InsertLeave", "TextChanged" }
  vim.api.nvim_create_autocmd(moments, { group = group, buffer = buffer, callback = refresh })
  refresh()
end

--- Why the server cannot be started, in a sentence; nil where it can.
---@return string?
function M.missing()
  if vim.fn.executable(M.options.cmd[1]) == 0 then
    return ("`%s` is not there: install Lithify, or name it in setup({ cmd = ... })"):format(M.options.cmd[1])
  end
end

local function start(dispatchers)
  local missing = M.missing()
  if missing then
    error(missing, 0)
  end
  return require("lithify.spelling").start(M.options.cmd, dispatchers)
end

--- What `vim.lsp.config` takes.
---@param options table
---@return table
function M.lsp(options)
  M.options, M.is_set_up = vim.tbl_deep_extend("force", defaults, options), true
  return {
    cmd = start,
    filetypes = M.options.filetypes,
    root_markers = { ".git" },
    reuse_client = function(client, config)
      return client.name == config.name and (not config.root_dir or client.root_dir == config.root_dir)
    end,
    init_options = vim.tbl_deep_extend("force", M.options.settings, { client = CLIENT }),
    on_init = function(client)
      require("lithify.status").begin(client)
    end,
    on_exit = function(_, _, id)
      require("lithify.status").forget(id)
    end,
    on_attach = M.options.codelens and draw_lenses or nil,
    handlers = {
      ["lithify/bufferStatusChanged"] = function(_, status, context)
        require("lithify.status").changed(context.client_id, status)
      end,
      ["lithify/sessionChanged"] = function(_, session)
        require("lithify.sessions").changed(session.sessionId)
      end,
      ["lithify/askInstructions"] = ask_instructions,
      ["window/showDocument"] = show_document,
    },
    commands = require("lithify.compaction").of_menus(),
  }
end

return M

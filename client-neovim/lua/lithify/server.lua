--- The server of the place where the user is: found, or started; asked, and its failures shown.

local M = {}

local START_MILLISECONDS = 10000

--- Says something to the user.
---@param text string
---@param level integer?
function M.say(text, level)
  vim.notify(text, level or vim.log.levels.INFO, { title = "Lithify" })
end

--- Starts a server, or finds one that was started for that root.
local function start(root, options)
  local config, missing = vim.lsp.config.lithify, require("lithify.config").missing()
  if missing then
    error(missing, 0)
  end
  options.reuse_client = config.reuse_client
  local id = vim.lsp.start(vim.tbl_extend("force", config, { name = "lithify", root_dir = root }), options)
  return id and vim.lsp.get_client_by_id(id)
end

local function own_root()
  if not require("lithify.config").is_set_up then
    require("lithify").setup()
  end
  return vim.fs.root(0, vim.lsp.config.lithify.root_markers)
end

local function running(filter)
  return vim.lsp.get_clients(vim.tbl_extend("force", { name = "lithify" }, filter))[1]
end

local function ready(client)
  local is_there = client and vim.wait(START_MILLISECONDS, function()
    return client.initialized or client:is_stopped()
  end, 10)
  if not is_there or client:is_stopped() then
    error("Lithify's server does not start; `:checkhealth lithify` says why", 0)
  end
  return client
end

--- The server of this buffer, else any that runs, else a new one. Raises a sentence where none can be had.
---@return vim.lsp.Client
function M.get()
  return ready(running({ bufnr = 0 }) or running({}) or start(own_root() or vim.fn.getcwd(), { attach = false }))
end

--- The server that has this buffer; a file that none has yet is given to one, which is started where none runs.
--- Nil for what is no file. Raises a sentence where no server can be had.
---@return vim.lsp.Client?
function M.of_buffer()
  local client = running({ bufnr = 0 })
  if client or vim.bo.buftype ~= "" or vim.api.nvim_buf_get_name(0) == "" then
    return client
  end
  return ready(start(own_root(), { bufnr = 0 }))
end

--- Asks something. The answer comes to `done`; a failure is shown, unless `failed` takes it. Of what is cancelled
--- Neovim tells nothing.
---@param method string
---@param params table
---@param done fun(result: any)
---@param failed (fun(failure: lsp.ResponseError): boolean?)?
function M.request(method, params, done, failed)
  local ok, client = pcall(M.get)
  if not ok then
    return M.say(tostring(client), vim.log.levels.ERROR)
  end
  params = next(params) and params or vim.empty_dict()
  client:request(method, params, function(failure, result)
    if not failure then
      done(result)
    elseif not (failed and failed(failure)) then
      M.say(failure.message, vim.log.levels.ERROR)
    end
  end)
end

--- Runs a command of the server.
---@param name string
---@param argument table
---@param done fun(result: any)
---@param failed (fun(failure: lsp.ResponseError): boolean?)?
function M.run(name, argument, done, failed)
  argument = next(argument) and argument or vim.empty_dict()
  M.request("workspace/executeCommand", { command = name, arguments = { argument } }, done, failed)
end

return M

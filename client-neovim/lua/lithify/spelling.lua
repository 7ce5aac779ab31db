--- The URIs of live sessions, which Neovim and the server spell apart: Neovim takes a name without `//` for a path.

local M = {}

--- The name of a buffer that shows a session.
---@param uri string
---@return string
function M.for_buffer(uri)
  return (uri:gsub("^lithify%-session:/*", "lithify-session://"))
end

local function for_server(params)
  local document = type(params) == "table" and params.textDocument
  if not (document and vim.startswith(document.uri or "", "lithify-session://")) then
    return params
  end
  local uri = document.uri:gsub("^lithify%-session:/*", "lithify-session:")
  return vim.tbl_extend("force", params, { textDocument = vim.tbl_extend("force", document, { uri = uri }) })
end

--- Starts a server, and tells it URIs as it spells them itself.
---@param command string[]
---@param dispatchers vim.lsp.rpc.Dispatchers
---@return vim.lsp.rpc.PublicClient
function M.start(command, dispatchers)
  local connection = vim.lsp.rpc.start(command, dispatchers)
  local spelled = {}
  function spelled.request(method, params, ...)
    return connection.request(method, for_server(params), ...)
  end
  function spelled.notify(method, params)
    return connection.notify(method, for_server(params))
  end
  return setmetatable(spelled, { __index = connection })
end

return M

--- How the buffer of each server's project stands, and what the server works on.

local words = require("lithify.words")

local M = {}

--- By client: project, status, and the progress that runs, by token.
local known = {}

local function redraw()
  vim.cmd.redrawstatus()
end

vim.api.nvim_create_autocmd("LspProgress", {
  group = vim.api.nvim_create_augroup("lithify.progress", {}),
  callback = function(event)
    local mine, params = known[event.data.client_id], event.data.params
    if mine and require("lithify.config").options.progress then
      local value = params.value
      mine.doing[params.token] = value.kind ~= "end" and (value.message or value.title) or nil
      redraw()
    end
  end,
})

--- A server is there: asks it how the buffer of its project stands.
---@param client vim.lsp.Client
function M.begin(client)
  known[client.id] = { doing = {} }
  client:request("lithify/bufferStatus", vim.empty_dict(), function(_, status)
    if status and known[client.id] then
      known[client.id].project = status.projectId
      M.changed(client.id, status)
    end
  end)
end

--- The status of a project has changed; that of other projects is not shown.
function M.changed(id, status)
  if known[id] and known[id].project == status.projectId then
    known[id].status = status
    vim.schedule(redraw)
  end
end

--- A server is gone.
function M.forget(id)
  known[id] = nil
  vim.schedule(redraw)
end

--- What stands in the status line.
function M.line()
  local here = vim.lsp.get_clients({ name = "lithify", bufnr = 0 })[1] or vim.lsp.get_clients({ name = "lithify" })[1]
  local mine = here and known[here.id]
  if not (mine and mine.status) then
    return ""
  end
  local _, doing = next(mine.doing)
  return words.status(mine.status, doing)
end

--- Tells the status in full.
function M.tell()
  require("lithify.server").request("lithify/bufferStatus", {}, function(status)
    local lines = vim.tbl_map(function(line)
      return { text = line }
    end, words.status_lines(status))
    require("lithify.list").show("lithify://status", lines, {})
  end)
end

return M

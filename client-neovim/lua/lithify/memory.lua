--- The memory of the project: found or listed, read, and forgotten.

local list = require("lithify.list")
local server = require("lithify.server")
local words = require("lithify.words")

local M = {}

local function read(record)
  local name = "lithify://memory/" .. record.recordId
  local buffer = vim.fn.bufnr("^" .. name .. "$")
  if buffer < 0 then
    buffer = vim.api.nvim_create_buf(true, true)
    vim.api.nvim_buf_set_name(buffer, name)
    vim.bo[buffer].filetype = "markdown"
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, words.record(record))
  vim.bo[buffer].modifiable = false
  vim.cmd.wincmd("p")
  vim.api.nvim_win_set_buf(0, buffer)
end

local function forget(record, query)
  if vim.fn.confirm(("Forget '%s'?"):format(record.title), "&Forget\n&Keep", 2) == 1 then
    server.run("lithify.forget_memory", { recordId = record.recordId }, function()
      M.search(query)
    end)
  end
end

local function show(query, records)
  local told = query == "" and "newest first" or ("best first, for '%s'"):format(query)
  local lines = { { text = ("%s, %s.  <CR> reads, d forgets, q closes."):format(words.count(#records, "record"), told) } }
  for _, record in ipairs(records) do
    local kind = words.column((record.type:gsub("_", " ")), 16)
    table.insert(lines, { text = kind .. words.moment(record.createdAt) .. "  " .. record.title, item = record })
  end
  list.show("lithify://memory", lines, {
    ["<CR>"] = read,
    d = function(record)
      forget(record, query)
    end,
  })
end

--- Lists the records that have words of a query, the best first; without a query the newest ones.
---@param query string
function M.search(query)
  local command = query == "" and "lithify.list_memory" or "lithify.search_memory"
  local argument = query == "" and {} or { query = query, limit = 50 }
  server.run(command, argument, function(found)
    if #found.records == 0 then
      return server.say(query == "" and "Nothing is remembered of this project yet." or "Nothing found.")
    end
    show(query, found.records)
  end)
end

return M

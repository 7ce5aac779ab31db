--- The messages of the chat in the current buffer, as a location list.

local server = require("lithify.server")

local M = {}

--- Fills the location list with one entry a message, and opens it.
function M.list()
  local buffer, window = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
  pcall(server.of_buffer) -- where none can be had, the request says so
  local params = { textDocument = vim.lsp.util.make_text_document_params(buffer) }
  server.request("textDocument/documentSymbol", params, function(symbols)
    if #(symbols or {}) == 0 then
      return server.say("This buffer is no chat: it has no messages.")
    end
    local items = vim.tbl_map(function(symbol)
      local text = ("%s (%s)"):format(symbol.name, symbol.detail)
      return { bufnr = buffer, lnum = symbol.range.start.line + 1, col = 1, text = text }
    end, symbols)
    vim.fn.setloclist(window, {}, " ", { title = "Messages", items = items })
    vim.cmd.lopen()
  end)
end

return M

--- A list in a window of its own: plain lines, each of which may stand for something.

local M = {}

local MOST_LINES = 15

--- Shows lines. Keys act on what the line at the cursor stands for; `q` closes.
---@param name string the name of the buffer, one list of each name
---@param lines { text: string, item: any }[]
---@param keys table<string, fun(item: any)>
function M.show(name, lines, keys)
  local buffer = vim.fn.bufnr("^" .. name .. "$")
  if buffer < 0 then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, name)
  end
  local texts = vim.tbl_map(function(line)
    return (line.text:gsub("\n", " "))
  end, lines)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, texts)
  vim.bo[buffer].modifiable = false
  M.open(buffer, math.min(#lines, MOST_LINES))
  for number, line in ipairs(lines) do
    if line.item ~= nil then
      vim.api.nvim_win_set_cursor(0, { number, 0 })
      break
    end
  end
  for key, act in pairs(keys) do
    vim.keymap.set("n", key, function()
      local item = lines[vim.api.nvim_win_get_cursor(0)[1]].item
      if item ~= nil then
        act(item)
      end
    end, { buffer = buffer, nowait = true })
  end
  vim.keymap.set("n", "q", "<cmd>close<cr>", { buffer = buffer, nowait = true })
end

--- Opens a buffer below, in the window that has it already if there is one.
function M.open(buffer, height)
  local window = vim.fn.bufwinid(buffer)
  if window > 0 then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd(("botright %dsplit"):format(height))
    vim.api.nvim_win_set_buf(0, buffer)
  end
  vim.wo[0][0].cursorline, vim.wo[0][0].number, vim.wo[0][0].wrap = true, false, false
  vim.wo[0][0].winfixheight = true
  vim.api.nvim_win_set_height(0, height)
end

--- Leaves the list for the window that it was called from; that is gone where the list fills the screen.
function M.leave()
  local window = vim.api.nvim_get_current_win()
  vim.cmd.wincmd("p")
  if vim.api.nvim_get_current_win() ~= window then
    vim.api.nvim_win_close(window, false)
  end
end

return M

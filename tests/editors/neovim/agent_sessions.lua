-- A session in Neovim with the plugin: a chat of a coding agent, listed, opened, compacted and put back.
local drive = dofile(vim.env.DRIVE)
local facts = drive.facts

drive.session(function()
  drive.hear()
  drive.client()
  vim.cmd("LithifySessions")
  facts.listed = drive.lines_of("lithify://sessions")
  drive.press("<CR>")
  drive.wait("the chat of the agent", function()
    return vim.api.nvim_buf_get_name(0):find("/.claude/", 1, true) ~= nil
  end)
  facts.windows = #vim.api.nvim_list_wins()
  drive.client()
  local before = drive.text()
  facts.told = drive.tells("the compaction", function()
    vim.cmd("LithifyCompact")
  end)
  facts.appended = vim.startswith(drive.text(), before) and drive.text() ~= before
  facts.told_undo = drive.tells("the undo", function()
    vim.cmd("LithifyUndo")
  end)
  facts.undone = drive.text() == before
  vim.cmd("LithifySessions")
  drive.lines_of("lithify://sessions")
  facts.told_read_only = drive.tells("why nothing can be compacted", function()
    drive.press("j<CR>")
  end)
end)

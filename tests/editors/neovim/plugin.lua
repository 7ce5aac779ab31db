-- A session in Neovim with the plugin, by its commands.
local drive = dofile(vim.env.DRIVE)
local facts = drive.facts

local told, tells, lines_of, press = drive.told, drive.tells, drive.lines_of, drive.press

drive.session(function()
  drive.hear()
  facts.idle = drive.status_line()
  local before = drive.text()
  facts.attached_at_first = #vim.lsp.get_clients({ bufnr = 0 })
  facts.told_at_once = tells("the compaction before the server was there", function()
    vim.cmd("LithifyCompact")
  end)
  vim.cmd("undo | doautocmd TextChanged")
  local client = drive.client()
  drive.wait("the lenses", function()
    return #drive.drawn_lenses() > 0
  end)
  facts.lenses = drive.drawn_lenses()

  vim.cmd("LithifyMessages")
  drive.wait("the list of messages", function()
    return vim.bo.buftype == "quickfix"
  end)
  facts.messages_list = vim.tbl_map(function(item)
    return item.text
  end, vim.fn.getloclist(0))
  vim.cmd("lclose")

  vim.api.nvim_win_set_cursor(0, { 4, 0 })
  local changes = vim.fn.undotree().seq_last
  facts.told_up_to = tells("the compaction", function()
    vim.cmd("LithifyCompactUpTo keep the names")
  end)
  facts.after = drive.text()
  facts.steps = vim.fn.undotree().seq_last - changes
  facts.told_undo = tells("the undo", function()
    vim.cmd("LithifyUndo")
  end)
  if drive.text() ~= before then
    vim.cmd("undo")
  end
  facts.undone = drive.text()

  facts.told_conversation = tells("the compaction", function()
    vim.cmd("LithifyCompact")
  end)
  facts.after_conversation = drive.text()
  facts.told_noop = tells("nothing to do", function()
    vim.cmd("LithifyCompact")
  end)
  vim.cmd("undo")

  vim.api.nvim_win_set_cursor(0, { 4, 0 })
  facts.menu = drive.choose("with instructions")
  vim.ui.input = function(options, take)
    facts.asked = options.prompt
    take("the names")
  end
  local told_before = #told
  vim.lsp.buf.code_action()
  drive.wait("what to know before the question, and the compaction of the menu", function()
    return #told == told_before + 2
  end)
  facts.told_before_question, facts.told_menu = told[told_before + 1], told[told_before + 2]
  vim.cmd("undo")

  local asked_again = false
  vim.ui.input = function(_, take)
    asked_again = true
    take(nil)
  end
  told_before = #told
  vim.lsp.buf.code_action()
  drive.wait("the second question", function()
    return asked_again
  end)
  drive.quiet(client)
  facts.cancelled = { told = vim.list_slice(told, told_before + 1), unchanged = drive.text() == before }

  vim.api.nvim_win_set_cursor(0, { 4, 0 })
  local chat = vim.api.nvim_get_current_buf()
  vim.cmd("LithifyPreview")
  drive.wait("the preview", function()
    return vim.api.nvim_get_current_buf() ~= chat
  end)
  facts.preview = { text = drive.text(), readonly = vim.bo.readonly, filetype = vim.bo.filetype }
  facts.preview.windows = { #vim.api.nvim_list_wins() }
  vim.cmd("wincmd p")
  facts.preview.beside_chat = vim.api.nvim_get_current_buf() == chat
  vim.cmd("LithifyPreview")
  drive.wait("the preview once more", function()
    return vim.api.nvim_get_current_buf() ~= chat
  end)
  table.insert(facts.preview.windows, #vim.api.nvim_list_wins())
  press("q")
  facts.preview.closed = vim.api.nvim_get_current_buf() == chat

  vim.cmd("hide edit long.jsonl")
  drive.client()
  local long = drive.text()
  vim.cmd("LithifyCompact")
  facts.told_cancel = tells("that it was cancelled", function()
    vim.cmd("LithifyCancel")
  end)
  drive.quiet(client)
  facts.cancelled_long = drive.text() == long
  facts.told_cancel_again = tells("that nothing runs", function()
    vim.cmd("LithifyCancel")
  end)
  vim.cmd("buffer " .. chat)

  dofile(vim.env.SESSION)
  drive.wait("the status of the buffer", function()
    return drive.status_line():find("2 waiting", 1, true) ~= nil
  end)
  facts.status = drive.status_line()
  vim.cmd("LithifyStatus")
  facts.status_lines = lines_of("lithify://status")
  vim.cmd("close")

  facts.told_nothing = tells("that nothing was found", function()
    vim.cmd("LithifyMemory receipt")
  end)
  drive.ask(client, "workspace/executeCommand", { command = "lithify.extract_now", arguments = { vim.empty_dict() } })
  vim.cmd("LithifyMemory receipt")
  facts.memory = lines_of("lithify://memory")
  press("<CR>")
  facts.record = lines_of("lithify://memory/")
  vim.cmd("wincmd p")
  vim.fn.confirm = function(question)
    facts.confirm = question
    return 1
  end
  facts.told_forgotten = tells("that nothing is left", function()
    press("2Gd")
  end)
  vim.cmd("only | hide edit read-only.json")
  drive.client()
  facts.told_read_only = tells("why nothing can be compacted", function()
    vim.cmd("LithifyCompactUpTo")
  end)
  vim.cmd("hide edit notes.txt")
  facts.told_no_transcript = tells("that this is no transcript", function()
    vim.cmd("LithifyCompact")
  end)
  vim.cmd("enew")
  facts.told_no_chat = tells("that this is no chat", function()
    vim.cmd("LithifyCompact")
  end)
  vim.cmd("checkhealth lithify")
  facts.health = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  facts.told = told
end)

-- A session in Neovim with a snippet of the page and no plugin, all by calls that a user makes.
local drive = dofile(vim.env.DRIVE)
local facts = drive.facts

drive.session(function()
  local client = drive.client()
  local before = drive.text()
  facts.before = before

  if vim.env.LENSES ~= "at once" then
    vim.cmd("doautocmd CursorHold") -- what comes by itself when nothing is typed for a while
  end
  drive.wait("the lenses", function()
    return #drive.drawn_lenses() > 0
  end)
  facts.lenses = drive.drawn_lenses()

  vim.lsp.buf.document_symbol()
  drive.wait("the list of messages", function()
    return #vim.fn.getqflist() + #vim.fn.getloclist(0) > 0
  end)
  facts.symbols = vim.tbl_map(function(item)
    return { line = item.lnum, text = item.text }
  end, #vim.fn.getqflist() > 0 and vim.fn.getqflist() or vim.fn.getloclist(0))
  vim.cmd("silent! cclose | silent! lclose")

  vim.api.nvim_win_set_cursor(0, { 4, 0 })
  local changes = vim.fn.undotree().seq_cur
  facts.menu = drive.choose("Compact up to here")
  vim.lsp.buf.code_action()
  drive.wait("the edit", function()
    return drive.text() ~= before
  end)
  drive.quiet(client)
  facts.after = drive.text()
  facts.steps = vim.fn.undotree().seq_cur - changes
  vim.cmd("undo")
  facts.undone = drive.text()

  vim.api.nvim_win_set_cursor(0, { 4, 0 })
  vim.cmd("doautocmd TextChanged")
  drive.wait("the lenses of the text", function()
    return #drive.drawn_lenses() == #facts.lenses
  end)
  vim.lsp.codelens.run()
  drive.wait("the edit of a lens", function()
    return drive.text() ~= before
  end)
  drive.quiet(client)
  facts.after_lens = drive.text()
  vim.cmd("undo")

  vim.api.nvim_win_set_cursor(0, { 4, 0 })
  if vim.env.PREVIEW == "shown" then
    local chat = vim.api.nvim_get_current_buf()
    drive.choose("Preview")
    vim.lsp.buf.code_action()
    drive.wait("the preview", function()
      return vim.api.nvim_get_current_buf() ~= chat
    end)
    facts.preview = vim.api.nvim_buf_get_lines(0, 0, 1, false)[1]
    vim.cmd("buffer " .. chat)
  end

  -- The server asks what the summary should heed: with a list in the command line up to 0.10, with a menu since.
  local menu = drive.choose("with instructions")
  local select_action = vim.ui.select
  vim.ui.select = function(items, options, take)
    if type(items[1]) == "table" and items[1].title == "Decisions and why" then
      facts.focuses = vim.tbl_map(options.format_item, items)
      return take(items[1])
    end
    select_action(items, options, take)
  end
  vim.fn.inputlist = function(lines)
    facts.focuses = lines
    return 1
  end
  vim.lsp.buf.code_action()
  drive.wait("the edit with instructions", function()
    return drive.text() ~= before
  end)
  drive.quiet(client)
  vim.cmd("undo")
  facts.instructions_menu = menu

  facts.kinds = {}
  for _, file in ipairs(vim.split(vim.env.SAMPLES, " ")) do
    vim.cmd("hide edit " .. file)
    drive.client()
    local document = { textDocument = vim.lsp.util.make_text_document_params(0) }
    facts.kinds[file] = #drive.ask(client, "textDocument/documentSymbol", document).result
  end
  vim.cmd("hide edit read-only.json")
  drive.client()
  vim.lsp.buf.hover()
  drive.wait("why nothing can be compacted", function()
    return #vim.diagnostic.get(0) > 0
  end)
  facts.read_only = vim.diagnostic.get(0)[1].message
  vim.cmd("hide edit chat.jsonl")

  dofile(vim.env.SESSION)
  drive.wait("the compacted session", function()
    facts.session = drive.ask(client, "lithify/getSession", { sessionId = "my-chat" }).result
    return facts.session and #facts.session.compactions > 0
  end)

  drive.wait("the status of the buffer", function()
    return drive.status_line():find("2 waiting", 1, true) ~= nil
  end)
  facts.status = drive.status_line()

  local extract = { command = "lithify.extract_now", arguments = { vim.empty_dict() } }
  facts.extracted = drive.ask(client, "workspace/executeCommand", extract)
  drive.wait("the status of the memory", function()
    return drive.status_line():find("0 waiting", 1, true) ~= nil
  end)
  facts.status_after = drive.status_line()

  -- What the status line says while the server works on a long chat, as it is drawn.
  facts.progress = {}
  vim.cmd("hide edit long.jsonl")
  drive.client()
  local long = drive.text()
  vim.api.nvim_create_autocmd(vim.env.PROGRESS_EVENT, {
    pattern = vim.env.PROGRESS_PATTERN,
    callback = function()
      table.insert(facts.progress, drive.status_line())
    end,
  })
  drive.choose("Compact conversation")
  vim.lsp.buf.code_action()
  drive.wait("the edit of the long chat", function()
    return drive.text() ~= long
  end)
  drive.quiet(client)

  if vim.fn.exists(":LithifyMemory") == 2 then
    local windows = #vim.api.nvim_list_wins()
    vim.cmd("LithifyMemory receipt")
    drive.wait("what was found", function()
      return #vim.api.nvim_list_wins() > windows
    end)
    local window = vim.api.nvim_list_wins()[windows + 1]
    facts.found = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
  end
end)

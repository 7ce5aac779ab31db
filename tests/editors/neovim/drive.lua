-- What the sessions in Neovim share: waiting, choosing from menus, and noting facts. Runs in Neovim 0.7 and later.
local M = { facts = {} }

--- Waits until a condition holds; an error names what did not come.
function M.wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    error("waited in vain for " .. what)
  end
end

--- The client of the server, once it is ready.
function M.client()
  local found
  M.wait("the server", function()
    local clients = (vim.lsp.get_clients or vim.lsp.get_active_clients)()
    for _, client in pairs(clients) do
      if client.name == "lithify" and client.initialized and client.server_capabilities.codeLensProvider then
        found = client
      end
    end
    return found ~= nil and vim.lsp.buf_is_attached(0, found.id)
  end)
  return found
end

--- The answer to a request, as { failure = ..., result = ... }.
function M.ask(client, method, params)
  local answer
  local function take(failure, result)
    answer = { failure = failure, result = result }
  end
  if vim.fn.has("nvim-0.11") == 1 then
    client:request(method, params, take)
  else
    client.request(method, params, take)
  end
  M.wait("the answer to " .. method, function()
    return answer ~= nil
  end)
  return answer
end

--- Waits until the server has answered all that it was asked.
function M.quiet(client)
  M.wait("the answers", function()
    return vim.tbl_isempty(client.requests)
  end)
end

--- Answers menus as a user would: with the first entry whose text has these words. Returns what the menus showed.
function M.choose(words)
  local shown = {}
  vim.ui.select = function(items, options, take)
    local chosen
    for _, item in ipairs(items) do
      local text = options.format_item(item)
      table.insert(shown, text)
      if chosen == nil and text:find(words, 1, true) then
        chosen = item
      end
    end
    take(chosen)
  end
  return shown
end

function M.text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
end

--- The status line as it is drawn now.
function M.status_line()
  return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str
end

--- The code lenses that are drawn in the buffer, by line.
function M.drawn_lenses()
  local drawn = {}
  for name, namespace in pairs(vim.api.nvim_get_namespaces()) do
    if name:lower():find("codelens", 1, true) then
      for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
        local details = mark[4]
        for _, line in ipairs(details.virt_lines or { details.virt_text or {} }) do
          for _, chunk in ipairs(line) do
            if chunk[1]:find("%S") then
              table.insert(drawn, { line = mark[2], text = chunk[1] })
            end
          end
        end
      end
    end
  end
  return drawn
end

--- What the user was told by `vim.notify`, newest last, once `hear` was called.
M.told = {}

function M.hear()
  vim.notify = function(text)
    table.insert(M.told, text)
  end
end

--- The message that is told after `act`.
function M.tells(what, act)
  local before = #M.told
  act()
  M.wait(what, function()
    return #M.told > before
  end)
  return M.told[#M.told]
end

--- The lines of the buffer whose name begins so, once it is in the current window.
function M.lines_of(name)
  M.wait(name, function()
    return vim.startswith(vim.api.nvim_buf_get_name(0), name)
  end)
  return vim.api.nvim_buf_get_lines(0, 0, -1, false)
end

function M.press(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), "xt", false)
end

--- Runs a session, writes its facts down, and quits as a user does.
function M.session(body)
  local ok, problem = xpcall(body, debug.traceback)
  if not ok then
    M.facts.problem = problem
  end
  M.facts.messages = vim.api.nvim_exec and vim.api.nvim_exec("messages", true) or ""
  local file = assert(io.open(vim.env.FACTS, "w"))
  file:write(vim.json and vim.json.encode(M.facts) or vim.fn.json_encode(M.facts))
  file:close()
  vim.cmd("qa!")
end

return M

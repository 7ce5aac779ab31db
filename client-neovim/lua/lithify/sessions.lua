--- Chats: live sessions and those of coding agents, listed and opened; a live one as a document that follows it.

local list = require("lithify.list")
local server = require("lithify.server")
local spelling = require("lithify.spelling")
local words = require("lithify.words")

local M = {}

local function fill(buffer, text)
  local lines = vim.split(text:gsub("\n$", ""), "\n")
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
end

--- Asks for the text of a session; what the editor has of it is left alone where there is none.
local function ask(session, done)
  server.request("lithify/sessionDocument", { sessionId = session }, done)
end

local function open_live(session)
  ask(session, function(document)
    local name = spelling.for_buffer(document.uri)
    local buffer = vim.fn.bufnr("^" .. vim.fn.escape(name, "~.*[]\\$") .. "$")
    if buffer < 0 then
      buffer = vim.api.nvim_create_buf(true, true)
      vim.api.nvim_buf_set_name(buffer, name)
      vim.b[buffer].lithify_session = session
    end
    fill(buffer, document.text)
    list.leave()
    vim.api.nvim_win_set_buf(0, buffer)
    vim.bo[buffer].filetype = document.languageId
    vim.lsp.buf_attach_client(buffer, server.get().id)
  end)
end

--- A session was changed: where it is open, its text is asked for again.
function M.changed(session)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.b[buffer].lithify_session == session then
      ask(session, function(document)
        fill(buffer, document.text)
      end)
    end
  end
end

local function open(chat)
  if chat.sessionId and not chat.uri then
    return open_live(chat.sessionId)
  end
  list.leave()
  if vim.startswith(chat.uri, "file:") then
    vim.cmd.edit(vim.fn.fnameescape(vim.uri_to_fname(chat.uri)))
  else
    server.say(("%s keeps its chats in no file that could be opened."):format(chat.agent), vim.log.levels.WARN)
  end
end

local function line(chat, kind)
  local size = ("%14s  %5s tokens"):format(words.count(chat.messages, "message"), words.short(chat.tokens))
  local marks = (chat.live == true and "  in use" or "") .. (chat.writable == false and "  read-only" or "")
  local title = words.column(chat.title or chat.sessionId or "", 44)
  local text = words.column(kind, 13) .. title .. "  " .. size .. "  " .. words.moment(chat.updatedAt) .. marks
  return { text = text, item = chat }
end

local function show(live, agents)
  local lines = { { text = words.count(#live + #agents, "chat") .. ", newest first.  <CR> opens, q closes." } }
  for _, chat in ipairs(live) do
    table.insert(lines, line(chat, "live"))
  end
  for _, chat in ipairs(agents) do
    table.insert(lines, line(chat, chat.agent))
  end
  list.show("lithify://sessions", lines, { ["<CR>"] = open })
end

--- Those of coding agents; none where the server knows nothing of them.
local function agents_of(project, done)
  local asked = { projectUri = project, limit = 100 }
  server.request("lithify/listAgentSessions", asked, function(found)
    done(found.sessions)
  end, function(failure)
    if (failure.data or {}).type == "not_built" then
      done({})
      return true
    end
  end)
end

--- Lists the chats of this project.
function M.list()
  local project = vim.uri_from_fname(vim.fs.root(0, ".git") or vim.fn.getcwd())
  server.request("lithify/listSessions", { projectUri = project }, function(live)
    agents_of(project, function(agents)
      if #live.sessions + #agents == 0 then
        return server.say("There are no chats of this project yet.")
      end
      show(live.sessions, agents)
    end)
  end)
end

return M

--- Chats: live sessions and those of coding agents, listed and opened; a live one as a document that follows it.

local list = require("lithify.list")
local server = require("lithify.server")
local spelling = require("lithify.spelling")
local words = require("lithify.words")

local M = {}

local MOST_OF_AGENTS = 100

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

--- What stands in the way of a compaction, if that is known before.
local function tell_obstacle(chat)
  if chat.writable == false and chat.reason then
    server.say("Nothing can be compacted in this chat. " .. chat.reason)
  elseif chat.live == true then
    server.say("Its agent has this chat open: end it there before you compact it here.")
  end
end

local function open(chat)
  if chat.sessionId and not chat.uri then
    return open_live(chat.sessionId)
  end
  list.leave()
  if vim.startswith(chat.uri, "file:") then
    vim.cmd.edit(vim.fn.fnameescape(vim.uri_to_fname(chat.uri)))
    tell_obstacle(chat)
  else
    server.say(("%s keeps its chats in no file that could be opened."):format(chat.agent), vim.log.levels.WARN)
  end
end

local function line(chat, kind, project)
  local size = ("%14s  %5s tokens"):format(words.count(chat.messages, "message"), words.short(chat.tokens))
  local marks = (chat.live == true and "  in use" or "") .. (chat.writable == false and "  read-only" or "")
  local title = words.column(chat.title or chat.sessionId or "", 44)
  local place = project and words.column(vim.fs.basename(project), 16) .. "  " or ""
  local text = words.column(kind, 13) .. place .. title .. "  " .. size .. "  " .. words.moment(chat.updatedAt) .. marks
  return { text = text, item = chat }
end

local function show(live, agents, told, with_projects)
  local lines = { { text = told .. ", newest first.  <CR> opens, q closes." } }
  for _, chat in ipairs(live) do
    local project = chat.projectUri and vim.uri_to_fname(chat.projectUri) or ""
    table.insert(lines, line(chat, "live", with_projects and project))
  end
  for _, chat in ipairs(agents) do
    table.insert(lines, line(chat, chat.agent, with_projects and (chat.project or "")))
  end
  list.show("lithify://sessions", lines, { ["<CR>"] = open })
end

--- Live chats and those of coding agents, of one project or of all; of agents none where the server knows nothing of
--- them.
local function find(project, done)
  server.request("lithify/listSessions", { projectUri = project }, function(live)
    local asked = { projectUri = project, limit = MOST_OF_AGENTS }
    server.request("lithify/listAgentSessions", asked, function(found)
      done(live.sessions, found.sessions)
    end, function(failure)
      if (failure.data or {}).type == "not_built" then
        done(live.sessions, {})
        return true
      end
    end)
  end)
end

local function show_all(told)
  find(nil, function(live, agents)
    local count = #live + #agents
    if count == 0 then
      return server.say("There are no chats yet.")
    end
    show(live, agents, told:format(words.count(count, "chat")), true)
  end)
end

--- Lists the chats of this project; where it has none, or where they are asked for, those of all projects.
---@param all boolean
function M.list(_, all)
  if all then
    return show_all("%s of all projects")
  end
  find(vim.uri_from_fname(vim.fs.root(0, ".git") or vim.fn.getcwd()), function(live, agents)
    if #live + #agents == 0 then
      return show_all("None of this project; %s of others")
    end
    show(live, agents, words.count(#live + #agents, "chat") .. " of this project")
  end)
end

return M

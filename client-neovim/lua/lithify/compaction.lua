--- The compactions of the chat in the current buffer: started, told in a sentence, taken back.

local server = require("lithify.server")
local words = require("lithify.words")

local M = {}

local UP_TO_HERE, CONVERSATION = "lithify.compact_up_to_here", "lithify.compact_conversation"
local WITH_INSTRUCTIONS, PREVIEW = "lithify.compact_with_instructions", "lithify.preview_compaction"

local function told(result)
  server.say(words.compaction(result))
end

--- What a command of this buffer names: its session, else its document.
local function target()
  local session = vim.b.lithify_session
  return session and { sessionId = session } or { uri = vim.uri_from_bufnr(0) }
end

--- The server of this buffer; where there is none, the user is told what to do.
local function server_of_chat()
  local ok, client = pcall(server.of_buffer)
  if not ok then
    server.say(tostring(client), vim.log.levels.ERROR)
  elseif client then
    return client
  else
    server.say("This buffer is no chat: open a transcript, or one of `:LithifySessions`.", vim.log.levels.WARN)
  end
end

--- Why nothing is offered here; the server says it of a chat that it can only read, at its first message.
local function why_nothing()
  for _, diagnostic in ipairs(vim.diagnostic.get(0)) do
    if diagnostic.source == "lithify" and diagnostic.code == "read_only" then
      return diagnostic.message
    end
  end
  return "Nothing can be compacted here."
end

--- Looks among the actions at the cursor, as the menu has them, for the first that runs a command.
local function action_at_cursor(name, found)
  local client = server_of_chat()
  if not client then
    return
  end
  local params = vim.lsp.util.make_range_params(0, client.offset_encoding)
  params.context = { diagnostics = {} }
  server.request("textDocument/codeAction", params, function(actions)
    for _, action in ipairs(actions or {}) do
      local command = type(action.command) == "table" and action.command or action
      if command.command == name then
        return found(command.arguments[1])
      end
    end
    server.say(why_nothing())
  end)
end

--- Summarises all but the newest messages.
---@param instructions string what the summary should heed; may be empty
function M.conversation(instructions)
  if server_of_chat() then
    server.run(CONVERSATION, vim.tbl_extend("error", target(), { instructions = instructions }), told)
  end
end

--- Summarises everything up to the message at the cursor.
---@param instructions string what the summary should heed; may be empty
function M.up_to_cursor(instructions)
  action_at_cursor(UP_TO_HERE, function(argument)
    server.run(UP_TO_HERE, vim.tbl_extend("force", argument, { instructions = instructions }), told)
  end)
end

--- Puts the messages of the newest compaction back.
function M.undo()
  if not server_of_chat() then
    return
  end
  server.run("lithify.undo_compaction", target(), function()
    server.say("The messages are back.")
  end, function(failure)
    if (failure.data or {}).type == "not_built" then
      server.say("This server takes compactions of files back in the editor alone: press u.")
      return true
    end
  end)
end

--- Shows what the compaction at the cursor would send, and to whom. The server has the editor open it.
function M.preview()
  action_at_cursor(PREVIEW, function(argument)
    server.run(PREVIEW, argument, function(result)
      if result.type == "noop" then
        told(result)
      end
    end)
  end)
end

--- Ends the compactions that run, and the work of their models with them.
function M.cancel()
  local ended = 0
  for _, client in ipairs(vim.lsp.get_clients({ name = "lithify" })) do
    for id, request in pairs(client.requests) do
      if request.type == "pending" and request.method == "workspace/executeCommand" then
        client:cancel_request(id)
        ended = ended + 1
      end
    end
  end
  server.say(ended > 0 and "Cancelled." or "Nothing runs that could be cancelled.")
end

--- How the client runs the commands of menus and lenses: as the server's, with the result told.
function M.of_menus()
  local function runs(command)
    server.run(command.command, command.arguments[1], function(result)
      if result.type ~= "preview_document" then
        told(result)
      end
    end)
  end
  return { [UP_TO_HERE] = runs, [CONVERSATION] = runs, [WITH_INSTRUCTIONS] = runs, [PREVIEW] = runs }
end

return M

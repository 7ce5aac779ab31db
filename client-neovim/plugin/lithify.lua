-- The commands of Lithify. Nothing is loaded before one of them is called, or `require("lithify").setup()`.

if vim.g.loaded_lithify then
  return
end
vim.g.loaded_lithify = true

local function command(name, module, call, options)
  vim.api.nvim_create_user_command("Lithify" .. name, function(given)
    require("lithify." .. module)[call](vim.trim(given.args), given.bang)
  end, options)
end

command("Compact", "compaction", "conversation", { nargs = "*", desc = "Summarise all but the newest messages" })
command("CompactUpTo", "compaction", "up_to_cursor", { nargs = "*", desc = "Summarise up to the message at the cursor" })
command("Undo", "compaction", "undo", { desc = "Put the messages of the last compaction back" })
command("Cancel", "compaction", "cancel", { desc = "End the compaction that runs" })
command("Preview", "compaction", "preview", { desc = "Show what a compaction would send" })
command("Messages", "messages", "list", { desc = "List the messages of this chat" })
command("Memory", "memory", "search", { nargs = "*", desc = "Search the memory of this project, or list it" })
command("Sessions", "sessions", "list", { bang = true, desc = "List chats: live ones, and those of coding agents" })
command("Status", "status", "tell", { desc = "Tell how buffer and memory of this project stand" })

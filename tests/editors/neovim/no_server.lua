-- A session in Neovim with the plugin where Lithify is not installed.
local drive = dofile(vim.env.DRIVE)
local facts = drive.facts

drive.session(function()
  facts.loaded = vim.tbl_filter(function(name)
    return name == "lithify" or vim.startswith(name, "lithify.")
  end, vim.tbl_keys(package.loaded))
  table.sort(facts.loaded)

  drive.hear()
  vim.cmd("LithifyStatus")
  facts.told = vim.deepcopy(drive.told)
  facts.told_chat = drive.tells("that the server cannot be started", function()
    vim.cmd("edit chat.jsonl")
  end)

  vim.cmd("helptags ALL")
  facts.commands = vim.tbl_filter(function(name)
    return vim.startswith(name, "Lithify")
  end, vim.tbl_keys(vim.api.nvim_get_commands({})))
  facts.without_help = vim.tbl_filter(function(name)
    return not pcall(vim.cmd.help, ":" .. name)
  end, facts.commands)
  vim.cmd("only")

  vim.cmd("checkhealth lithify")
  facts.health = vim.api.nvim_buf_get_lines(0, 0, -1, false)
end)

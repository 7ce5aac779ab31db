--- `:checkhealth lithify`: whether the server can be started, what runs, and what `lithify doctor` says.

local M = {}

local DOCTOR_MILLISECONDS = 20000

local function servers()
  local clients = vim.lsp.get_clients({ name = "lithify" })
  for _, client in ipairs(clients) do
    local version = client.server_info and client.server_info.version or "?"
    vim.health.ok(("server %s runs in %s"):format(version, client.root_dir or vim.fn.getcwd()))
  end
  if #clients == 0 then
    vim.health.info("no server runs: open a transcript, or call `:LithifyStatus`")
  end
end

local function doctor(command)
  local done = vim.system({ command, "doctor" }, { text = true }):wait(DOCTOR_MILLISECONDS)
  local report = done.code == 0 and vim.health.info or vim.health.warn
  report("`lithify doctor` says:\n" .. vim.trim(done.stdout .. done.stderr))
end

function M.check()
  vim.health.start("lithify")
  if vim.fn.has("nvim-0.11") == 0 then
    return vim.health.error("Neovim 0.11 is needed; docs/EDITORS.md of Lithify has a configuration for older ones")
  end
  if not require("lithify.config").is_set_up then
    return vim.health.error("the plugin is not set up", 'call require("lithify").setup() in your init.lua')
  end
  local config = require("lithify.config")
  local command = config.options.cmd[1]
  if config.missing() then
    return vim.health.error(("`%s` is not there"):format(command), {
      "install Lithify so that `lithify` is on the PATH",
      'or name it: require("lithify").setup({ cmd = { "/path/to/lithify", "serve" } })',
    })
  end
  vim.health.ok(vim.fn.exepath(command))
  servers()
  doctor(command)
end

return M

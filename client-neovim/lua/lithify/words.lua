--- Sentences and numbers as a user reads them. Pure.

local M = {}

local NOTHING = {
  empty = "there are no messages in it",
  too_few_messages = "it is too short",
  nothing_before_tail = "it has nothing but the newest messages, which stay",
  preserve_none = "no message is to be kept, and none to be replaced",
  system_only = "it has nothing but the system's message",
}

--- "1 message", "4 messages".
function M.count(number, noun)
  return ("%d %s%s"):format(number, noun, number == 1 and "" or "s")
end

--- "940", "1.9k", "12k", "1.2M".
function M.short(number)
  if number < 1000 then
    return tostring(number)
  end
  local size, unit = number / 1000, "k"
  if size >= 999.5 then
    size, unit = size / 1000, "M"
  end
  return (size < 10 and "%.1f%s" or "%.0f%s"):format(size, unit)
end

--- What a compaction did, in a sentence; then its warnings. That of our own prompt is left to `:checkhealth`.
function M.compaction(result)
  if result.type == "noop" then
    return "Nothing to compact: " .. (NOTHING[result.reason] or result.reason) .. "."
  end
  local stats = result.stats
  local sentences = {
    ("%s became %d: %s tokens became %s."):format(
      M.count(stats.messagesBefore, "message"),
      stats.messagesAfter,
      M.short(stats.tokensBefore),
      M.short(stats.tokensAfter)
    ),
  }
  for _, warning in ipairs(result.warnings or {}) do
    if warning.code ~= "prompt_fallback" then
      table.insert(sentences, warning.message)
    end
  end
  return table.concat(sentences, " ")
end

--- The state of a buffer for the status line; `doing` is what the server works on, if anything.
function M.status(status, doing)
  if doing then
    return "lithify: " .. doing
  end
  local parts = { M.short(status.entries + status.waiting) .. " waiting", M.short(status.records) .. " remembered" }
  local states = {
    extracting = "making memory",
    compacting = "tightening the buffer",
    full = "buffer full",
    degraded = "in trouble, see :LithifyStatus",
  }
  if states[status.state] then
    table.insert(parts, 1, states[status.state])
  end
  if not status.recording then
    table.insert(parts, "not recording")
  end
  return "lithify: " .. table.concat(parts, ", ")
end

local function bytes(number)
  if number < 1024 then
    return M.count(number, "byte")
  end
  local unit, size = "KiB", number / 1024
  if size >= 1024 then
    unit, size = "MiB", size / 1024
  end
  return (size < 10 and "%.1f %s" or "%.0f %s"):format(size, unit)
end

--- The state of a buffer in full, a line each.
function M.status_lines(status)
  local lines = {
    "Project    " .. vim.uri_to_fname(status.projectUri),
    "Recording  " .. (status.recording and "on" or "off"),
    ("Buffer     %s, %s of %s"):format(
      M.count(status.entries, "entry"):gsub("entrys", "entries"),
      bytes(status.sizeBytes),
      bytes(status.thresholds.ceilingBytes)
    ),
    "Memory     " .. M.count(status.records, "record"),
  }
  if status.waiting > 0 then
    table.insert(lines, "Waiting    " .. M.count(status.waiting, "event") .. " for room in the buffer")
  end
  local function work(name, state)
    if state.inFlight then
      table.insert(lines, name .. " is at work.")
    end
    if state.lastError then
      table.insert(lines, name .. " failed: " .. state.lastError)
    end
  end
  work("Making memory", status.extraction)
  work("Tightening the buffer", status.compaction)
  if status.background.paused then
    table.insert(lines, "The hourly limit of background work is reached; a command still works.")
  end
  if status.problem then
    table.insert(lines, "Problem: " .. status.problem)
  end
  return lines
end

--- A memory record as Markdown, line by line.
function M.record(record)
  local lines = { "# " .. record.title, "" }
  vim.list_extend(lines, vim.split(record.summary, "\n"))
  local function list(title, items)
    if #items > 0 then
      vim.list_extend(lines, { "", "## " .. title, "" })
      for _, item in ipairs(items) do
        table.insert(lines, "- " .. item:gsub("\n", " "))
      end
    end
  end
  list("Facts", record.facts)
  list("Files", record.files)
  list("About", record.concepts)
  local made = ("%s, made %s by a %s from %s"):format(
    record.type:gsub("_", " "),
    M.moment(record.createdAt),
    record.method == "offline" and "fixed procedure" or "model",
    M.count(#record.sourceEventIds, "event")
  )
  vim.list_extend(lines, { "", "*" .. made .. "*" })
  return lines
end

--- "2026-07-01 07:33" of an ISO 8601 time in UTC.
function M.moment(time)
  return (time:sub(1, 16):gsub("T", " "))
end

--- Text in a column, cut or filled to its width.
function M.column(text, width)
  text = text:gsub("%s+", " ")
  if vim.fn.strdisplaywidth(text) > width then
    while vim.fn.strdisplaywidth(text) > width - 1 do
      text = vim.fn.strcharpart(text, 0, vim.fn.strchars(text) - 1)
    end
    text = text .. "…"
  end
  return text .. (" "):rep(width - vim.fn.strdisplaywidth(text))
end

return M

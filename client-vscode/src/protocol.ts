// Made by `make docs` from lsp/wire.py, lsp/wire_base.py, tools/answer_shapes.py and the settings: edit them.

/** A message of a conversation; keys that are not named here are kept as they are. */
export interface Message {
  id?: string | null;
  role: string;
  content?: string | Part[] | null;
  [key: string]: unknown;
}

/** A part of a message's content. */
export interface Part {
  type: string;
  text?: string;
  [key: string]: unknown;
}

export interface TextBody {
  type: "text";
  content: string;
}

export interface Turn {
  role: string;
  content: string;
}

export interface MessageBody {
  type: "message";
  turns: Turn[];
}

export interface JsonBody {
  type: "json";
  data: unknown;
}

export interface Source {
  surface?: string | null;
  version?: string | null;
  clientId?: string | null;
  projectPath?: string | null;
}

export interface Event {
  eventId?: string | null;
  parentEventId?: string | null;
  sessionId: string;
  actorId?: string | null;
  kind: "prompt" | "tool_use" | "session_summary" | "note";
  body: TextBody | MessageBody | JsonBody;
  validTime?: string | null;
  source?: Source | null;
  schemaVersion?: 1 | null;
  contentHash?: string | null;
}

/** `lithify/didRecordEvents` and `lithify/recordEvents`; each event is checked on its own, as `Event`. */
export interface RecordEvents {
  events: unknown[];
}

export interface BufferStatusParams {
  projectUri?: string | null;
}

export interface AgentCompaction {
  enabled?: boolean | null;
  type?: string | null;
  maxPreservedMessages?: number | null;
  compactionModel?: string | null;
  prompt?: string | null;
  settingsOverrides?: Record<string, unknown> | null;
}

export interface AgentConfig {
  model?: string | null;
  contextWindow?: number | null;
  compaction?: AgentCompaction | null;
}

export interface DidOpenSession {
  sessionId: string;
  title?: string | null;
  agent?: AgentConfig | null;
  compactionModel?: string | null;
  messages: Message[];
  projectUri?: unknown;
  source?: Source | null;
  record?: "turns" | "all" | "none" | null;
}

export interface DidAppendMessages {
  sessionId: string;
  messages: Message[];
}

export interface DidSpliceMessages {
  sessionId: string;
  start: number;
  deleteCount: number;
  messages: Message[];
}

export interface DidChangeSession {
  sessionId: string;
  title?: string | null;
  agent?: AgentConfig | null;
  compactionModel?: string | null;
}

/** `lithify/didCloseSession`, `getSession`, `deleteSession`, `sessionStatus`. */
export interface SessionParams {
  sessionId: string;
}

export interface ListSessions {
  projectUri?: string | null;
  limit?: number;
  cursor?: string | null;
}

export interface SessionActions {
  agent?: AgentConfig | null;
}

export interface CompactConversation {
  sessionId?: string | null;
  uri?: string | null;
  instructions?: string | null;
  prompt?: string | null;
  compactionModel?: string | null;
  settingsOverrides?: Record<string, unknown> | null;
  exact?: boolean | null;
  digest?: string | null;
  dryRun?: boolean | null;
  draft?: boolean | null;
  start?: number | null;
  end?: number | null;
  maxPreservedMessages?: number | null;
}

export interface CompactUpToHere {
  sessionId?: string | null;
  uri?: string | null;
  instructions?: string | null;
  prompt?: string | null;
  compactionModel?: string | null;
  settingsOverrides?: Record<string, unknown> | null;
  exact?: boolean | null;
  digest?: string | null;
  dryRun?: boolean | null;
  draft?: boolean | null;
  messageId?: string | null;
  index?: number | null;
  line?: number | null;
  start?: null;
  end?: null;
}

export interface ApplyCompaction {
  draftId: string;
  summaryText?: string | null;
}

export interface DiscardDraft {
  draftId: string;
}

export interface UndoCompaction {
  sessionId?: string | null;
  uri?: string | null;
  compactionId?: string | null;
}

/** `lithify.extract_now`, `lithify.compact_buffer`. */
export interface ProjectParams {
  projectUri?: string | null;
}

export interface SearchMemory {
  query: string;
  projectUri?: string | null;
  cursor?: null;
  limit?: number;
}

export interface ListMemory {
  projectUri?: string | null;
  limit?: number;
  cursor?: string | null;
}

/** `lithify.show_memory`, `lithify.forget_memory`. */
export interface RecordParams {
  recordId: string;
}

export interface SetRecording {
  enabled: boolean;
  projectUri?: string | null;
}

/** What either of the two compactions takes: with an anchor it is up to here. */
export interface PreviewCompaction {
  sessionId?: string | null;
  uri?: string | null;
  instructions?: string | null;
  prompt?: string | null;
  compactionModel?: string | null;
  settingsOverrides?: Record<string, unknown> | null;
  exact?: boolean | null;
  digest?: string | null;
  dryRun?: boolean | null;
  draft?: boolean | null;
  start?: number | null;
  end?: number | null;
  maxPreservedMessages?: number | null;
  messageId?: string | null;
  index?: number | null;
  line?: number | null;
}

export interface ListAgentSessions {
  projectUri?: string | null;
  agent?: string | null;
  limit?: number | null;
}

export interface GetAgentSession {
  uri: string;
}

/** One of the two compactions as a command of LSP; the user is asked for its instructions first. */
export interface CompactWithInstructions {
  command: "lithify.compact_conversation" | "lithify.compact_up_to_here";
  arguments: Record<string, unknown>[];
}

export interface ExecuteCommand {
  command: string;
  arguments?: unknown[] | null;
  workDoneToken?: number | string | null;
}

/** `initializationOptions.client`: which of the server's own messages the editor handles. */
export interface ClientOptions {
  complete?: boolean;
  bufferStatus?: boolean;
  sessionChanged?: boolean;
  askInstructions?: boolean;
}

export interface Thresholds {
  extractionBytes: number;
  compactionBytes: number;
  ceilingBytes: number;
}

export interface WorkStatus {
  enabled: boolean;
  inFlight: boolean;
  breaker: "closed" | "open" | "half_open";
  failures: number;
  lastRunAt?: string | null;
  lastError?: string | null;
  lastMethod?: "model" | "eviction" | "offline" | null;
  lastProvider?: string | null;
  lastModel?: string | null;
}

export interface BackgroundStatus {
  modelCallsLastHour: number;
  tokensLastHour: number;
  paused: boolean;
}

export interface BufferStatus {
  projectId: string;
  projectUri: string;
  sizeBytes: number;
  entries: number;
  thresholds: Thresholds;
  state: "idle" | "extracting" | "compacting" | "full" | "degraded";
  extraction: WorkStatus;
  compaction: WorkStatus;
  waiting: number;
  records: number;
  recording: boolean;
  background: BackgroundStatus;
  problem?: string | null;
}

export interface EventResult {
  eventId: string | null;
  status: "buffered" | "stored" | "duplicate" | "rejected";
  reason?: string | null;
}

export interface EventResults {
  results: EventResult[];
}

export interface RecordingState {
  recording: boolean;
  projectUri: string;
}

export interface ExtractionResult {
  extracted: number;
  records: number;
  remaining: number;
  method?: string | null;
  provider?: string | null;
  model?: string | null;
  reason?: "nothing_waiting" | "nothing_worth_keeping" | null;
  problem?: string | null;
}

export interface BufferCompactionResult {
  sizeBefore: number;
  sizeAfter: number;
  entriesBefore: number;
  entriesAfter: number;
  method: string | null;
  provider?: string | null;
  model?: string | null;
  problem?: string | null;
}

export interface MemoryRecord {
  recordId: string;
  projectId: string;
  type: "tool_use" | "decision" | "error" | "discovery" | "pattern" | "session_summary";
  title: string;
  summary: string;
  facts: string[];
  concepts: string[];
  files: string[];
  sourceEventIds: string[];
  createdAt: string;
  method: "model" | "offline";
  score?: number | null;
}

export interface MemoryRecords {
  records: MemoryRecord[];
  cursor?: string | null;
}

export interface Forgotten {
  forgotten: true;
}

export interface MessageRange {
  start: number;
  end: number;
}

export interface CompactionStats {
  messagesBefore: number;
  messagesAfter: number;
  tokensBefore: number;
  tokensAfter: number;
  durationMs: number;
}

export interface Usage {
  inputTokens?: number | null;
  outputTokens?: number | null;
}

export interface Notice {
  code: string;
  message: string;
}

export interface Compacted {
  sessionId?: string | null;
  uri?: string | null;
  range: MessageRange;
  requestedRange: MessageRange;
  summary: Message;
  stats: CompactionStats;
  method: "model" | "offline";
  provider: "editor" | "acp" | "http" | "offline";
  model?: string | null;
  promptSource: string;
  usage?: Usage | null;
  warnings: Notice[];
  type: "compacted";
  compactionId: string;
  revision?: number | null;
  messages?: Message[] | null;
}

export interface Draft {
  sessionId?: string | null;
  uri?: string | null;
  range: MessageRange;
  requestedRange: MessageRange;
  summary: Message;
  stats: CompactionStats;
  method: "model" | "offline";
  provider: "editor" | "acp" | "http" | "offline";
  model?: string | null;
  promptSource: string;
  usage?: Usage | null;
  warnings: Notice[];
  type: "draft";
  draftId: string;
}

export interface Noop {
  type: "noop";
  reason: "empty" | "preserve_none" | "too_few_messages" | "nothing_before_tail" | "system_only";
}

export interface TextPart {
  type: "text";
  text: string;
}

export interface ModelMessage {
  role: "user";
  content: TextPart[];
}

export interface PreviewedRequest {
  systemPrompt: string;
  message: ModelMessage;
  tools: unknown[];
  model?: string | null;
  settings: Record<string, unknown>;
}

export interface Preview {
  type: "preview";
  range: MessageRange;
  requestedRange: MessageRange;
  requests: number;
  request: PreviewedRequest;
  stats: CompactionStats;
  promptSource: string;
  digest?: string | null;
}

/** `lithify.preview_compaction`: the preview as a text, which the server has the editor show. */
export interface PreviewDocument {
  type: "preview_document";
  uri: string;
  languageId: string;
  text: string;
}

export interface Undone {
  sessionId?: string | null;
  uri?: string | null;
  compactionId: string;
  revision?: number | null;
  messages?: Message[] | null;
  restoredUri?: string | null;
}

export interface Discarded {
  discarded: true;
}

export interface KeptCompaction {
  compactionId: string;
  at: string;
  range: MessageRange;
  stats: CompactionStats;
  undone: boolean;
}

export interface Session {
  sessionId: string;
  title?: string | null;
  projectUri?: string | null;
  compactionModel?: string | null;
  revision: number;
  messages: Message[];
  compactions: KeptCompaction[];
  agent: AgentConfig | null;
  record: "turns" | "all" | "none";
  closed: boolean;
  createdAt: string;
  updatedAt: string;
}

export interface ListedSession {
  sessionId: string;
  title?: string | null;
  projectUri?: string | null;
  messages: number;
  tokens: number;
  updatedAt: string;
}

export interface ListedSessions {
  sessions: ListedSession[];
  cursor?: string | null;
}

export interface SessionStatus {
  messages: number;
  tokens: number;
  window?: number | null;
  share?: number | null;
}

export interface SessionAction {
  command: string;
  title: string;
  target: "session" | "message";
}

export interface OfferedActions {
  actions: SessionAction[];
}

export interface SessionChanged {
  sessionId: string;
  revision: number;
  reason: "compacted" | "undone";
  messages: Message[];
}

export interface ShownSession {
  uri: string;
  languageId: string;
  text: string;
}

export interface FoundSession {
  uri: string;
  agent: string;
  sessionId?: string | null;
  version?: string | null;
  title?: string | null;
  project?: string | null;
  messages: number;
  tokens: number;
  updatedAt: string;
  live: boolean | null;
  writable: boolean;
  reason?: string | null;
  resumeCommand?: string | null;
}

export interface FoundSessions {
  sessions: FoundSession[];
  more?: boolean | null;
}

export interface ShownCall {
  id: string;
  name: string;
  arguments: string;
}

export interface ShownMessage {
  role: string;
  text: string;
  toolCalls: ShownCall[];
  answers: string[];
  tokens: number;
  compactable: boolean;
  thought?: string | null;
  media?: number | null;
  summary?: boolean | null;
}

export interface ShownFold {
  title: string;
  messages: number;
}

export interface DocumentCompaction {
  compactionId: string;
  at: string;
  undone: boolean;
}

/** `lithify/getAgentSession`: a session of an agent, or another transcript, as people read it. */
export interface ShownConversation {
  uri: string;
  agent?: string | null;
  sessionId?: string | null;
  version?: string | null;
  title?: string | null;
  project?: string | null;
  messages: ShownMessage[];
  tokens: number;
  updatedAt?: string | null;
  live: boolean | null;
  writable: boolean;
  reason?: string | null;
  resumeCommand?: string | null;
  folds: ShownFold[];
  compactions: DocumentCompaction[];
}

/** `lithify/complete`: what the editor's model is asked. */
export interface CompleteParams {
  requestId: string;
  purpose: "conversation" | "buffer" | "extraction";
  userInitiated: boolean;
  model?: string | null;
  systemPrompt: string;
  message: ModelMessage;
  tools: unknown[];
  maxOutputTokens?: number | null;
  timeoutMs: number;
  settings?: Record<string, unknown> | null;
}

/** The editor's answer to `lithify/complete`. */
export interface Completion {
  text: string;
  model?: string | null;
  stopReason?: string | null;
  usage?: Usage | null;
}

export interface CancelComplete {
  requestId: string;
}

/** `lithify/askInstructions`: what the user wants a compaction to heed is asked for. */
export interface InstructionsQuestion {
  title: string;
  note?: string | null;
}

/** The editor's answer: null where the user gave up. */
export interface Instructions {
  instructions: string | null;
}

/** `data` of an error of the server's. */
export interface FailureData {
  type: string;
  retryable: boolean;
}

export const SETTINGS = [
  "dataDir",
  "recording.enabled",
  "recording.exclude",
  "sessions.record",
  "buffer.idleMs",
  "buffer.extractionBytes",
  "buffer.compactionBytes",
  "buffer.ceilingBytes",
  "extraction.enabled",
  "extraction.timeoutMs",
  "extraction.maxFailures",
  "extraction.cooldownMs",
  "extraction.model",
  "bufferCompaction.enabled",
  "bufferCompaction.timeoutMs",
  "bufferCompaction.maxAttempts",
  "bufferCompaction.maxFailures",
  "bufferCompaction.cooldownMs",
  "bufferCompaction.model",
  "memoryCompaction.enabled",
  "memoryCompaction.maxRecords",
  "conversation.timeoutMs",
  "conversation.maxRequestTokens",
  "conversation.refuseLargerFrom",
  "conversation.exactAnchor",
  "conversation.keepOriginals",
  "conversation.compaction",
  "documents.formats",
  "model.provider",
  "model.acp.command",
  "model.acp.profile",
  "model.acp.env",
  "model.http.baseUrl",
  "model.http.wire",
  "model.http.model",
  "model.http.apiKeyEnv",
  "background.maxModelCallsPerHour",
  "background.maxTokensPerHour",
  "privacy.redactSecrets",
  "log.level",
] as const;

export const MACHINE_SETTINGS = [
  "dataDir",
  "model.acp.command",
  "model.acp.profile",
  "model.acp.env",
  "model.http.baseUrl",
  "model.http.wire",
  "model.http.model",
  "model.http.apiKeyEnv",
] as const;

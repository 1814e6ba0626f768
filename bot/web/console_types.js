/**
 * Shapes of what the hub sends the console, for editors and for reading: no browser loads them, so they are not
 * among its files. A script and no module, so that every module knows their names; `jsconfig.json` tells editors
 * that they belong together. Times are microseconds UTC.
 *
 * @typedef {{text: string, styles: string[], link: string | null}} Span
 * @typedef {{type: "paragraph", spans: Span[]}
 *   | {type: "heading", level: number, spans: Span[]}
 *   | {type: "code", text: string, language: string}
 *   | {type: "quote", blocks: Block[]}
 *   | {type: "list", items: Block[][], start: number | null, tight: boolean}
 *   | {type: "table", alignments: string[], header: Span[][], rows: Span[][][]}
 *   | {type: "rule"}} Block
 *
 * @typedef {{id: string, state: "running" | "waiting" | "stopping"}} Turn
 * @typedef {{id: string, channel: string, title: string, user: {id: string, name: string, role: string},
 *   group: boolean, own: boolean, updated_at: number, created_at: number, preview: string,
 *   turn: Turn | null, waiting: number, last_seq: number, state: string, tags: string[],
 *   archived: boolean, context: {tokens: number, window_tokens: number} | null, tokens: number,
 *   cost_micro_usd: number}} Thread
 *
 * @typedef {{name: string, media_type: string, size_bytes: number | null, url?: string | null}} FileInfo
 * @typedef {{menu_id: string, labels: string[], first: number, reply?: number | null}} Menu
 * @typedef {{seq: number, at: number, kind: string, turn: string | null, undone?: boolean, text?: string, blocks?: Block[],
 *   sender?: {name: string, role: string | null}, by?: string, via?: string, attachments?: FileInfo[],
 *   files?: FileInfo[], call_id?: string, tool?: string, arguments?: Object<string, any>, state?: string,
 *   status?: string, gate_id?: string, gate_kind?: string, title?: string, lines?: string[], outcome?: string | null,
 *   menu?: Menu | null, model?: string}} Item
 *
 * @typedef {{index: number, label: string, option: string | null}} Choice
 * @typedef {{gate_id: string, call_id: string | null, job_id?: string | null, kind: string, thread_id: string, channel: string,
 *   title: string, tool: string | null, arguments: Object<string, any> | null,
 *   shown: {name: string, text: string}[], details: string[], always: string | null, link: string | null, choices: Choice[],
 *   free_text: boolean, secret: boolean, editable: boolean, requester: {id: string, name: string}, opened_at: number,
 *   expires_at: number, state: "open" | "closed",
 *   outcome: null | {text: string, by: string | null, at: number}, may_decide: boolean, voted: boolean, quorum: number,
 *   votes: string[], calls: {call_id: string, tool: string, reason: string, lines: string[]}[]}} Approval
 *
 * @typedef {{id: string, user_id: string, tool: string, pattern: string | null, covers: string,
 *   thread_id: string | null, subject: string | null, created_at: number}} Grant
 *
 * @typedef {{call_id: string, tool: string, state: string}} Step
 * @typedef {{turn: string, tool: string, depth: number, executed: number, max_rounds: number | null,
 *   max_tools: number | null, reason: string | null}} Loop
 * @typedef {{turn: string, offset: number, text: string, steps?: Step[]}} Live
 * @typedef {{thread: Thread, items: Item[], first_seq: number | null, last_seq: number, more: boolean,
 *   live: Live | null, waiting: {text: string, sender: {name: string}, attachments: FileInfo[]}[], approvals: Approval[],
 *   model: string, models: string[]}} Conversation
 *
 * @typedef {{id: string, name: string, kind: string, fires_on: string, enabled: boolean, status: string,
 *   definition: any, next_at: number | null, last_run_at: number | null, run_count: number, failures: number,
 *   skipped_slots: number, paused_because: string | null, problem: string | null, version: number}} Routine
 * @typedef {{id: string, kind: string, status: string, due_at: number, started_at: number | null,
 *   ended_at: number | null, result: string | null, error: string | null, input_tokens: number,
 *   output_tokens: number, missing_grants: string[], job_id: string | null}} RoutineRun
 * @typedef {{fires: boolean, why: string, system: string | null, input: string | null}} Trial
 * @typedef {{problems: {field: string, message: string}[], fires_on: string | null, slots: number[],
 *   trial: Trial | null, agents: string[], images: string[]}} Draft
 *
 * @typedef {{id: string, short_id: string, title: string, task: string, state: string, reason: string,
 *   result: string | null, tools: string[], rounds: number, max_iterations: number, last_tool: string | null,
 *   input_tokens: number, output_tokens: number, cost_micro_usd: number, parent: string | null,
 *   routine_id: string | null, created_at: number, started_at: number | null, ended_at: number | null,
 *   project: string | null, digest: string | null}} Job
 * @typedef {{seq: number, at: number, kind: string, name: string, text: string, detail: string}} JobEvent
 * @typedef {{files: FileInfo[], subtasks: {id: string, task: string, state: string, created_at: number,
 *   ended_at: number | null}[]}} JobParts
 *
 * @typedef {{image: string, memory_mb: number, disk_mb: number, cpus: number, pids: number, egress: string[],
 *   samples: {at: number, cpu_us: number, memory_bytes: number, disk_bytes: number}[],
 *   connections: {target: string, refused: string | null, connections: number, moved_bytes: number}[]}} JobContainer
 *
 * @typedef {{type: string, thread_id?: string, seq?: number, at: number, data: any}} HubEvent
 * @typedef {{user_id: string, name: string, role: string, version: string, channels: string[],
 *   models: string[], model: string, commands: {name: string, about: string}[], timezone: string}} Me
 *
 * @typedef {Object} Context What every page is given.
 * @property {typeof import("./static/api.js")} api
 * @property {Me} me
 * @property {import("./static/hub_events.js").HubEvents} hub
 * @property {import("./static/connection.js").Connection} connection
 * @property {import("./static/unread.js").Unread} unread
 * @property {(hash: string, options?: {replace?: boolean}) => void} navigate
 *
 * @typedef {Object} Page
 * @property {HTMLElement} element
 * @property {(route: import("./static/router.js").Route) => void} show
 * @property {() => void} close
 */

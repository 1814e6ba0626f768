"""The points where a hub can be killed: around each commit, inside a request somebody took, inside a tool."""

from dataclasses import dataclass
from typing import Literal

COMMITS = frozenset(
    {
        # coming in, and turns
        "accept_event",
        "answer_as_operator",
        "stop_thread",
        "take_up_thread",
        "change_thread",
        "delete_thread",
        "files_removed",
        "send_job_notices",
        "record_reply_and_intents",
        "record_notes",
        "join_waiting",
        "index_said",
        "record_summary",
        "ask_person",
        "mark_running",
        "record_process",
        "finish_calls",
        "finish_turn_and_enqueue",
        # starting again
        "recover",
        "take_lease",
        "renew_lease",
        "resume_turn",
        "release_runs",
        "start_waiting",
        "mark_unknown",
        # people and consent
        "ensure_user",
        "settle_pairing",
        "link_account",
        "revoke_account",
        "restore_account",
        "expire_gates",
        "remind_gates",
        "escalate_gate",
        "revoke_grant",
        "keep_key",
        "redeem_invitation",
        "drop_key",
        "drop_keys_of",
        "set_preferences",
        "set_role",
        "set_tool_setting",
        "set_secrets",
        "drop_secret",
        "ask_to_sign_in",
        "show_sign_in",
        "answer_sign_in",
        "redeem_sign_in",
        "finish_sign_in",
        "renew_sign_in",
        "renew_tokens",
        "sign_out",
        "begin_sign_out",
        "end_sign_out",
        "write_memory",
        "forget_memory",
        "restore_memory",
        "write_document",
        "set_person_approvals",
        "set_thread_approvals",
        "pause_tools",
        "reset_tool",
        "put_extension",
        "change_extension",
        "note_settings",
        "ask_settings",
        "end_settings",
        "hold_to",
        "count_model_call",
        "link_audit",
        "record_policy",
        "note_download",
        "prune_audit",
        "add_notice",
        # routines
        "save_routine",
        "rewrite_routine",
        "switch_routine",
        "delete_routine",
        "forget_done_routines",
        "claim_run",
        "claim_slots",
        "dispatch_job",
        "begin_runs",
        "open_run_journal",
        "keep_models",
        "reserve_call",
        "settle_calls",
        "finish_run",
        "resume_run",
        "settle_notice",
        "keep_own_place",
        # jobs
        "save_job",
        "show_jobs",
        "begin_jobs",
        "resume_job",
        "repair_job",
        "join_job_messages",
        "begin_plan",
        "end_plan",
        "end_job",
        "begin_subtask",
        "end_subtask",
        "change_job",
        "tell_job",
        "begin_container_jobs",
        "adopt_container_job",
        "arm_container",
        "ask_for_credential",
        "answer_request",
        "end_container_job",
        "settle_changes",
        "record_use",
        # going out
        "claim_outbox",
        "record_part_sent",
        "record_sent",
        "retry_outbox",
        "mark_ambiguous",
        "fail_outbox",
        "begin_preview",
        "record_preview",
        # hooks
        "release_input",
        "refuse_input",
        "judge_outbound",
        "session_changes",
    }
)
"""The store's units that write."""

READS = frozenset(
    {
        "sign_in",
        "answered_sign_ins",
        "signed_in_for",
        "sign_outs",
        "deleted_files",
        "unknown_calls",
        "extensions",
        "failing_tools",
        "job_counts",
        "next_job_notice",
        "audit_of",
        "job_line",
        "job_parts",
        "jobs_to_show",
        "usage",
        "held_inputs",
        "outbound_judged",
        "load_turn",
        "document",
        "memory_note",
        "documents",
        "executions",
        "preferences",
        "spoken",
        "tools_paused",
        "reach",
        "active_thread",
        "explain_matching",
        "feed_after",
        "feed_before",
        "key_holder",
        "decisions",
        "gates_in",
        "waiting_in",
        "gate_glance",
        "gate_glances",
        "said_to",
        "thread_glance",
        "thread_glances",
        "user",
        "people",
        "pairing_requests",
        "open_gates",
        "gates_to_escalate",
        "gate_shown_as",
        "grants",
        "last_seen",
        "standing",
        "tool_settings",
        "secrets",
        "search",
        "search_memory",
        "thread",
        "threads",
        "entries",
        "all_entries",
        "explain",
        "explain_recent",
        "noise",
        "pending_outbox",
        "sent_refs",
        "preview_shown",
        "post_context",
        "has_routines",
        "notices_sent",
        "routine",
        "routines",
        "routine_named",
        "routines_due_first",
        "count_routines",
        "listening_routines",
        "event_routines",
        "due_routines",
        "started_run",
        "ended_jobs",
        "has_lapsed",
        "hold_lease",
        "lease_lost",
        "next_due",
        "due_notices",
        "routine_runs",
        "run_standing",
        "job",
        "jobs",
        "job_events",
        "stopped_jobs",
        "has_waiting_jobs",
        "answer_to",
        "accepted_changes",
        "container_row",
        "credentials_given",
        "granted_credentials",
        "is_asked_for",
        "settings_changes",
        "container_states",
        "changes_of",
        "use_of",
        "run_steps",
    }
)
"""The others: nothing of theirs can be half done, so there is nothing to be killed around."""

ANY = "*"
"""Stands for whichever unit: the process' nth commit of all."""

Side = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class AtCommit:
    """Just before, or just after, the `nth` commit of that unit in the process."""

    unit: str
    nth: int
    side: Side

    def __str__(self) -> str:
        return f"{self.unit}:{self.nth}:{self.side}"


@dataclass(frozen=True, slots=True)
class InTelegram:
    """Inside the `nth` request of that method, once the platform took it and before it answered."""

    method: str
    nth: int

    def __str__(self) -> str:
        return f"telegram:{self.method}:{self.nth}"


@dataclass(frozen=True, slots=True)
class InModel:
    """Inside the `nth` model call, once the provider took it."""

    nth: int

    def __str__(self) -> str:
        return f"model:{self.nth}"


@dataclass(frozen=True, slots=True)
class InTool:
    """Inside the tool, after its effect and before it ended."""

    def __str__(self) -> str:
        return "tool"


@dataclass(frozen=True, slots=True)
class InHook:
    """Inside the `nth` question to a hook at that point, once it was taken."""

    at: str
    nth: int

    def __str__(self) -> str:
        return f"hook:{self.at}:{self.nth}"


Point = AtCommit | InTelegram | InModel | InTool | InHook


def parse_commit_point(text: str) -> AtCommit:
    """The form `unit:nth:side` that a hub process is given."""
    unit, nth, side = text.split(":")
    if unit not in COMMITS | {ANY} or side not in ("before", "after"):
        raise ValueError(f"no such point: {text}")
    return AtCommit(unit, int(nth), "before" if side == "before" else "after")

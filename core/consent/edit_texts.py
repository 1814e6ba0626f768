"""What the hub says about changing a call before it is agreed to."""

FORM_OUTDATED = (
    "Somebody changed this call after you opened the form, so it was not taken. Open the form again: it then "
    "shows the call as it is now."
)
REPLY_OUTDATED = (
    "Somebody changed this call after what you replied to, so your reply was not taken. This is how it is "
    "now: reply to this message."
)
EDIT_NEEDS_APPROVAL = "Arguments can be changed by who agrees to them only."
FILL_IN = (
    "Reply to this message with what is to be changed, a line for each argument (name: value), or with all "
    "of it as JSON. Your reply approves the call as it is then."
)
NOT_SHOWN = "It has arguments that are not shown, so they cannot be changed here."
REPLY_TO_CHANGE = "Reply to my message with what you want changed."
EDIT_NEEDS_OTHERS = (
    "Changed like this, it is for others to decide. Deny it, and have it asked for as it should be."
)
CHANGED_MEANWHILE = "This was changed by somebody else meanwhile. Look at it again."
EDIT_ONE_BY_ONE = "This is about several calls. Choose One by one; then each can be changed on its own card."
NOTHING_TO_EDIT = "There are no arguments to change."

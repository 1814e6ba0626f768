"""One hook: the model reads another name than people write."""

from hubbub import Change, HookEvent

SECRET_NAME, SHOWN_NAME = "Project X", "the project"


async def discreet(event: HookEvent) -> Change | None:
    """Replace the name in an input message."""
    if event.text is None or SECRET_NAME not in event.text:
        return None
    return Change(text=event.text.replace(SECRET_NAME, SHOWN_NAME))

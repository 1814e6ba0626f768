"""Block elements and composition objects: https://docs.slack.dev/reference/block-kit."""

from tests.simulators.slack import limits
from tests.simulators.slack.shapes import (
    Check,
    Field,
    anything,
    array,
    boolean,
    by_type,
    matching,
    may,
    need,
    number,
    shape,
    string,
)

TYPE = need(string())
ACTION_ID = may(string(limits.MAX_ACTION_ID_CHARS))


def plain_text(most: int = limits.MAX_TEXT_OBJECT_CHARS) -> Check:
    """A text object that is shown as it is."""
    return matching(by_type({"plain_text": _plain(most)}))


def any_text(most: int = limits.MAX_TEXT_OBJECT_CHARS) -> Check:
    """A text object of either kind."""
    mrkdwn = shape(type=TYPE, text=need(string(most, 1)), verbatim=may(boolean))
    return matching(by_type({"plain_text": _plain(most), "mrkdwn": mrkdwn}))


def _plain(most: int) -> Check:
    return shape(type=TYPE, text=need(string(most, 1)), emoji=may(boolean))


CONFIRM = shape(
    title=need(plain_text(limits.MAX_CONFIRM_TITLE_CHARS)),
    text=need(any_text(limits.MAX_CONFIRM_TEXT_CHARS)),
    confirm=need(plain_text(limits.MAX_CONFIRM_BUTTON_CHARS)),
    deny=need(plain_text(limits.MAX_CONFIRM_BUTTON_CHARS)),
    style=may(string(choices=("primary", "danger"))),
)


def _option(text: Check) -> Check:
    return shape(
        text=need(text),
        value=need(string(limits.MAX_OPTION_VALUE_CHARS, 1)),
        description=may(plain_text(limits.MAX_OPTION_TEXT_CHARS)),
        url=may(string(limits.MAX_BUTTON_URL_CHARS)),
    )


OPTION = _option(plain_text(limits.MAX_OPTION_TEXT_CHARS))
CHECK_OPTION = _option(any_text(limits.MAX_OPTION_TEXT_CHARS))
OPTION_GROUP = shape(
    label=need(plain_text(limits.MAX_OPTION_TEXT_CHARS)),
    options=need(array(OPTION, limits.MAX_OPTIONS, 1)),
)

BUTTON = shape(
    type=TYPE,
    text=need(plain_text(limits.MAX_BUTTON_TEXT_CHARS)),
    action_id=ACTION_ID,
    value=may(string(limits.MAX_BUTTON_VALUE_CHARS)),
    url=may(string(limits.MAX_BUTTON_URL_CHARS)),
    style=may(string(choices=("primary", "danger"))),
    confirm=may(CONFIRM),
    accessibility_label=may(string(limits.MAX_BUTTON_TEXT_CHARS)),
)


def _menu(**fields: Field) -> Check:
    return shape(
        type=TYPE,
        action_id=ACTION_ID,
        placeholder=may(plain_text(limits.MAX_PLACEHOLDER_CHARS)),
        confirm=may(CONFIRM),
        focus_on_load=may(boolean),
        **fields,
    )


_OPTIONS: dict[str, Field] = {
    "options": may(array(OPTION, limits.MAX_OPTIONS, 1)),
    "option_groups": may(array(OPTION_GROUP, limits.MAX_OPTIONS, 1)),
}
IMAGE_ELEMENT = shape(
    type=TYPE,
    image_url=may(string(limits.MAX_IMAGE_URL_CHARS, 1)),
    alt_text=need(string(limits.MAX_ALT_TEXT_CHARS)),
    slack_file=may(anything),
)
INTERACTIVE: dict[str, Check] = {
    "button": BUTTON,
    "static_select": _menu(**_OPTIONS, initial_option=may(OPTION)),
    "multi_static_select": _menu(
        **_OPTIONS, initial_options=may(array(OPTION)), max_selected_items=may(number)
    ),
    "users_select": _menu(initial_user=may(string())),
    "conversations_select": _menu(
        initial_conversation=may(string()), response_url_enabled=may(boolean), filter=may(anything)
    ),
    "channels_select": _menu(initial_channel=may(string()), response_url_enabled=may(boolean)),
    "overflow": shape(
        type=TYPE,
        action_id=ACTION_ID,
        options=need(array(OPTION, limits.MAX_OVERFLOW_OPTIONS, 1)),
        confirm=may(CONFIRM),
    ),
    "radio_buttons": _menu(
        options=need(array(CHECK_OPTION, limits.MAX_CHECKS, 1)), initial_option=may(CHECK_OPTION)
    ),
    "checkboxes": _menu(
        options=need(array(CHECK_OPTION, limits.MAX_CHECKS, 1)),
        initial_options=may(array(CHECK_OPTION, limits.MAX_CHECKS, 1)),
    ),
    "datepicker": _menu(initial_date=may(string())),
    "timepicker": _menu(initial_time=may(string()), timezone=may(string())),
    "datetimepicker": _menu(initial_date_time=may(number)),
}
INPUTS: dict[str, Check] = {name: check for name, check in INTERACTIVE.items() if name != "button"} | {
    "plain_text_input": _menu(
        initial_value=may(string(limits.MAX_INPUT_CHARS)),
        multiline=may(boolean),
        min_length=may(number),
        max_length=may(number),
        dispatch_action_config=may(anything),
    ),
    "number_input": _menu(
        is_decimal_allowed=need(boolean),
        initial_value=may(string()),
        min_value=may(string()),
        max_value=may(string()),
    ),
}
FEEDBACK = shape(
    text=need(plain_text(limits.MAX_BUTTON_TEXT_CHARS)),
    value=need(string(limits.MAX_BUTTON_VALUE_CHARS)),
    accessibility_label=may(string(limits.MAX_BUTTON_TEXT_CHARS)),
)
CONTEXT_ACTIONS: dict[str, Check] = {
    "feedback_buttons": shape(
        type=TYPE, action_id=ACTION_ID, positive_button=need(FEEDBACK), negative_button=need(FEEDBACK)
    ),
    "icon_button": shape(
        type=TYPE,
        icon=need(string()),
        text=need(plain_text(limits.MAX_BUTTON_TEXT_CHARS)),
        action_id=ACTION_ID,
        value=may(string(limits.MAX_BUTTON_VALUE_CHARS)),
        confirm=may(CONFIRM),
        accessibility_label=may(string(limits.MAX_BUTTON_TEXT_CHARS)),
        visible_to_user_ids=may(array(string())),
    ),
}

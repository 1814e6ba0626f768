"""Limits of Slack, each with the page that states it.

Lengths of text are counted in characters (Unicode code points), sizes in bytes, times in seconds. ``/x`` is
https://docs.slack.dev/x; "seen" marks what no page states and others have reported, with where.
"""

MAX_TEXT_CHARS = 40_000  # /changelog/2018-04-truncating-really-long-messages: cut, with a warning
MAX_UPDATE_TEXT_CHARS = 4_000  # /reference/methods/chat.update, msg_too_long
MAX_MARKDOWN_TEXT_CHARS = 12_000  # /reference/methods/chat.postMessage, chat.appendStream: markdown_text
MAX_BLOCKS = 50  # /reference/block-kit/blocks: 50 blocks in each message
MAX_VIEW_BLOCKS = 100  # same page: 100 blocks in modals
MAX_BLOCK_TEXT_CHARS = 13_200  # seen: github.com/slackapi/bolt-js/issues/2509, all text of all blocks
MAX_ATTACHMENTS = 100  # /reference/methods/chat.postMessage, too_many_attachments
MAX_METADATA_BYTES = 8 * 1024  # seen; /messaging/message-metadata names only metadata_too_large
MAX_METADATA_TYPE_CHARS = 255  # seen

MAX_BLOCK_ID_CHARS = 255  # /reference/block-kit/blocks/section-block: block_id
MAX_SECTION_TEXT_CHARS = 3_000  # /reference/block-kit/blocks/section-block: text
MAX_SECTION_FIELDS = 10  # same page: fields
MAX_SECTION_FIELD_CHARS = 2_000  # same page: fields
MAX_HEADER_CHARS = 150  # /reference/block-kit/blocks/header-block
MAX_ACTIONS = 25  # /reference/block-kit/blocks/actions-block: elements
MAX_CONTEXT_ELEMENTS = 10  # /reference/block-kit/blocks/context-block: elements
MAX_CONTEXT_ACTIONS = 5  # /reference/block-kit/blocks/context-actions-block: elements
MAX_MARKDOWN_CHARS = 12_000  # /reference/block-kit/blocks/markdown-block: all markdown blocks of a payload
MAX_TABLE_ROWS = 100  # /reference/block-kit/blocks/table-block: rows
MAX_TABLE_COLUMNS = 20  # same page: cells of a row, column_settings
MAX_TABLE_CHARS = 10_000  # seen; same page for one table a message (only_one_table_allowed)
MAX_IMAGE_URL_CHARS = 3_000  # /reference/block-kit/blocks/image-block: image_url
MAX_ALT_TEXT_CHARS = 2_000  # same page: alt_text, title
MAX_TEXT_OBJECT_CHARS = 3_000  # /reference/block-kit/composition-objects/text-object
MAX_INPUT_LABEL_CHARS = 2_000  # /reference/block-kit/blocks/input-block: label, hint

MAX_ACTION_ID_CHARS = 255  # /reference/block-kit/block-elements/button-element: action_id
MAX_BUTTON_TEXT_CHARS = 75  # same page: text, accessibility_label
MAX_BUTTON_VALUE_CHARS = 2_000  # same page: value
MAX_BUTTON_URL_CHARS = 3_000  # same page: url
MAX_PLACEHOLDER_CHARS = 150  # /reference/block-kit/block-elements/plain-text-input-element
MAX_INPUT_CHARS = 3_000  # same page: max_length
MAX_OPTIONS = 100  # /reference/block-kit/block-elements/select-menu-element: options, option_groups
MAX_OVERFLOW_OPTIONS = 5  # /reference/block-kit/block-elements/overflow-menu-element
MAX_CHECKS = 10  # /reference/block-kit/block-elements/checkboxes-element, radio-button-group-element
MAX_OPTION_TEXT_CHARS = 75  # /reference/block-kit/composition-objects/option-object: text, description
MAX_OPTION_VALUE_CHARS = 150  # same page: value
MAX_CONFIRM_TITLE_CHARS = 100  # /reference/block-kit/composition-objects/confirmation-dialog-object
MAX_CONFIRM_TEXT_CHARS = 300  # same page
MAX_CONFIRM_BUTTON_CHARS = 30  # same page

MAX_VIEW_TITLE_CHARS = 24  # /reference/views: title, submit, close
MAX_PRIVATE_METADATA_CHARS = 3_000  # same page
MAX_CALLBACK_ID_CHARS = 255  # same page
MAX_VIEW_BYTES = 250 * 1024  # /reference/methods/views.open, view_too_large
TRIGGER_TTL_S = 3.0  # /interactivity/handling-user-interaction: trigger_id expires in 3 seconds

ACK_TIMEOUT_S = 3.0  # /apis/events-api, /interactivity/handling-user-interaction: answer within 3 seconds
RETRY_DELAYS_S = (0.0, 60.0, 300.0)  # /apis/events-api: nearly at once, after 1 minute, after 5 minutes
MAX_SOCKETS = 10  # /apis/events-api/using-socket-mode: up to 10 open connections
SOCKET_LIFE_S = 18_060  # same page: approximate_connection_time
RESPONSE_URL_USES = 5  # /interactivity/handling-user-interaction: up to 5 times
STREAM_TTL_S = 300  # seen: github.com/slackapi/python-slack-sdk/issues/1859, node-slack-sdk/issues/2702
RESPONSE_URL_TTL_S = 30 * 60  # same page: within 30 minutes

MAX_ALT_TXT_CHARS = 1_000  # /reference/methods/files.getUploadURLExternal, alt_txt_too_large
MAX_FILE_BYTES = 1_000_000_000  # https://slack.com/help/articles/201330736: up to 1 GB
MAX_SNIPPET_BYTES = 1_000_000  # /reference/methods/files.getUploadURLExternal, snippet_too_large
MAX_SHARE_CHANNELS = 100  # /reference/methods/files.completeUploadExternal, channels_limit_exceeded

HISTORY_LIMIT = 999  # /reference/methods/conversations.history: limit, maximum
HISTORY_DEFAULT = 100  # same page
REPLIES_LIMIT = 1_000  # /reference/methods/conversations.replies: limit
LIST_LIMIT = 999  # /reference/methods/conversations.list: limit, under 1000
MAX_DM_USERS = 8  # /reference/methods/conversations.open, too_many_users

POSTS_PER_CHANNEL_PER_S = 1  # /apis/web-api/rate-limits: posting messages
PER_MINUTE_OF_TIER = {1: 1, 2: 20, 3: 50, 4: 100}  # /apis/web-api/rate-limits: tiers

"""Limits of Discord, each with the page of https://docs.discord.com/developers/ that states it.

Lengths of text are counted in Unicode code points; sizes are in bytes, times in seconds.
"""

MAX_CONTENT_CHARS = 2000  # resources/message#create-message: content, up to 2000 characters
MAX_NONCE_CHARS = 25  # resources/message#create-message: nonce, up to 25 characters
NONCE_WINDOW_S = 120.0  # resources/message#create-message: enforce_nonce, unique "in the past few minutes"
MAX_EMBEDS = 10  # resources/message#create-message: up to 10 rich embeds
MAX_EMBEDS_CHARS = 6000  # resources/message#embed-object-embed-limits: over all embeds of a message
MAX_EMBED_TITLE_CHARS = 256  # same
MAX_EMBED_DESCRIPTION_CHARS = 4096  # same
MAX_EMBED_FIELDS = 25  # same
MAX_EMBED_FIELD_NAME_CHARS = 256  # same
MAX_EMBED_FIELD_VALUE_CHARS = 1024  # same
MAX_EMBED_FOOTER_CHARS = 2048  # same
MAX_EMBED_AUTHOR_CHARS = 256  # same
MAX_ALLOWED_USERS = 100  # resources/message#allowed-mentions-object: users, max size of 100
MAX_ALLOWED_ROLES = 100  # same: roles
MAX_FILES = 10  # topics/opcodes-and-status-codes#json: 30015, attachments in a message (10)
MAX_FILE_BYTES = 10 * 1024 * 1024
"""reference#uploading-files: 10 MiB for each file; later versions of the page say 20 MiB. The smaller one is
enforced, so that what passes here passes under both."""
MAX_REQUEST_BYTES = 25 * 1024 * 1024  # resources/message#create-message: request size of 25 MiB
MAX_ATTACHMENT_DESCRIPTION_CHARS = 1024  # resources/message#attachment-object: description
MAX_MESSAGES = 100  # resources/message#get-channel-messages: limit, 1-100
DEFAULT_MESSAGES = 50  # same
MAX_REACTION_USERS = 100  # resources/message#get-reactions: limit, 1-100
MAX_REACTIONS = 20  # topics/opcodes-and-status-codes#json: 30010, reactions of a message (20)

MAX_ROWS = 5  # components/reference#legacy-message-component-behavior: up to 5 action rows
MAX_BUTTONS_PER_ROW = 5  # components/reference#action-row: up to 5 buttons
MAX_LABEL_CHARS = 80  # components/reference#button: label, max 80 characters
MAX_CUSTOM_ID_CHARS = 100  # components/reference#custom-id: 1-100 characters
MAX_BUTTON_URL_CHARS = 512  # components/reference#button: url, max 512 characters
MAX_SELECT_OPTIONS = 25  # components/reference#string-select: max 25 options
MAX_SELECT_OPTION_CHARS = 100  # same: label, value and description of an option
MAX_SELECT_PLACEHOLDER_CHARS = 150  # same: placeholder
MAX_MODAL_TITLE_CHARS = 45  # interactions/receiving-and-responding#interaction-response-object-modal: title
MAX_MODAL_COMPONENTS = 5  # same: between 1 and 5 components
MAX_TEXT_INPUT_LABEL_CHARS = 45  # components/reference#text-input: label
MAX_TEXT_INPUT_CHARS = 4000  # same: value, min_length and max_length
MAX_TEXT_INPUT_PLACEHOLDER_CHARS = 100  # same: placeholder

MAX_COMMANDS = 100  # interactions/application-commands#registering-a-command: 100 CHAT_INPUT commands
MAX_COMMAND_NAME_CHARS = 32  # interactions/application-commands#application-command-object: name, 1-32
MAX_COMMAND_DESCRIPTION_CHARS = 100  # same: description, 1-100
MAX_COMMAND_OPTIONS = 25  # same: options, max 25
MAX_COMMAND_CHOICES = 25  # same: choices, max 25
MAX_CHOICE_CHARS = 100  # same: name and value of a choice
MAX_COMMAND_CHARS = 8000  # same: all names, descriptions and values of a command together

INTERACTION_LIMIT_S = 3.0  # interactions/receiving-and-responding#interaction-callback: 3 seconds
INTERACTION_TOKEN_TTL_S = 900.0  # same: tokens are valid for 15 minutes

MAX_THREAD_NAME_CHARS = 100  # resources/channel#start-thread-from-message: name, 1-100 characters
AUTO_ARCHIVE_MINUTES = (60, 1440, 4320, 10080)  # resources/channel#thread-metadata-object

HEARTBEAT_INTERVAL_S = 41.25  # events/gateway-events#hello: the interval is the server's choice
MAX_GATEWAY_PAYLOAD_BYTES = 4096  # events/gateway#sending-events: 4096 bytes, else close code 4002
MAX_GATEWAY_EVENTS_PER_MINUTE = 120  # events/gateway#rate-limiting: 120 events in 60 seconds
SESSION_TTL_S = 120.0  # events/gateway#initiating-a-disconnect: "timeout after a few minutes"
SESSION_STARTS_PER_DAY = 1000  # events/gateway#identifying
GLOBAL_REQUESTS_PER_S = 50  # topics/rate-limits#global-rate-limit
ATTACHMENT_URL_TTL_S = 86_400  # reference#signed-attachment-cdn-urls: "preset expiry time", one day

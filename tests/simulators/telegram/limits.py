"""Limits of the Telegram Bot API, each with the section of https://core.telegram.org/bots/api that states it.

Lengths of text are counted in UTF-16 code units, as entity offsets are; sizes are in bytes; times in seconds.
"""

MAX_TEXT_UTF16 = 4096  # #sendmessage: text, 1-4096 characters after entities parsing
MAX_CAPTION_UTF16 = 1024  # #sendphoto, #senddocument, …: caption, 0-1024 characters after entities parsing
MAX_PARSED_BYTES = 1 << 15  # the Bot API server refuses longer text before it parses it
MAX_ENTITIES = 100  # https://limits.tginfo.me: further entities are dropped silently
MAX_CALLBACK_DATA_BYTES = 64  # #inlinekeyboardbutton: callback_data, 1-64 bytes
MAX_BUTTONS = 100  # https://limits.tginfo.me: buttons of one inline keyboard
MAX_BUTTONS_PER_ROW = 8  # https://limits.tginfo.me: buttons of one row are shown up to 8
MAX_CALLBACK_ANSWER_CHARS = 200  # #answercallbackquery: text, 0-200 characters
MAX_COMMANDS = 100  # #setmycommands: at most 100 commands
MAX_COMMAND_CHARS = 32  # #botcommand: command, 1-32 characters, lowercase letters, digits, underscores
MAX_COMMAND_DESCRIPTION_CHARS = 256  # #botcommand: description, 1-256 characters
MAX_DOWNLOAD_BYTES = 20 * 1024 * 1024  # #getfile: bots can download files of up to 20 MB
MAX_UPLOAD_BYTES = 50 * 1024 * 1024  # #sending-files: 50 MB for files other than photos
MAX_PHOTO_UPLOAD_BYTES = 10 * 1024 * 1024  # #sending-files: 10 MB max size for photos
MIN_ALBUM_ITEMS = 2  # #sendmediagroup: media, must include 2-10 items
MAX_ALBUM_ITEMS = 10  # #sendmediagroup
MAX_SECRET_TOKEN_CHARS = 256  # #setwebhook: secret_token, 1-256 characters, A-Z, a-z, 0-9, _ and -
MAX_UPDATES = 100  # #getupdates: limit, 1-100
MAX_POLL_TIMEOUT_S = 50  # the Bot API server shortens longer polls to this
MAX_TOPIC_NAME_CHARS = 128  # #createforumtopic: name, 1-128 characters
MAX_START_PARAMETER_CHARS = 64  # https://core.telegram.org/bots/features#deep-linking

MESSAGE_UPDATE_TTL_S = 86_400  # #getting-updates: updates are kept no longer than 24 hours
CALLBACK_UPDATE_TTL_S = 150  # the Bot API server drops an undelivered callback_query after this
CALLBACK_ANSWER_TTL_S = 60  # a query answered later than this is "too old"; the exact time is not published
POLL_CONFLICT_PAUSE_S = 3.0  # the Bot API server delays a second 409 that follows within this
CHAT_ACTION_S = 5  # #sendchataction: the status is set for 5 seconds or less

MESSAGES_PER_CHAT_PER_S = 1  # https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
MESSAGES_PER_GROUP_PER_MINUTE = 20  # same
MESSAGES_PER_S = 30  # same

"""The emoji the platform takes as reactions: https://core.telegram.org/bots/api#reactiontypeemoji."""

_LIST = """
❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳
❤\u200d🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨\u200d💻 👀 🎃 🙈
😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷\u200d♂ 🤷 🤷\u200d♀
😡
"""
_EMOJI = frozenset(_LIST.split())


def is_reaction(emoji: object) -> bool:
    """Return whether the platform takes this as a reaction (with or without a variation selector)."""
    return isinstance(emoji, str) and emoji.replace("\ufe0f", "") in _EMOJI

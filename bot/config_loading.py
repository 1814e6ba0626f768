"""The configuration as values: the file's document with variables and references worked in, then judged."""

from collections.abc import Mapping
from pathlib import Path

from bot.config_document import Document, apply_overrides, read
from bot.config_errors import Where
from bot.config_references import apply_references, apply_vault
from bot.config_rules import validate
from bot.errors import ConfigError
from bot.places import DATA_DIR, absolute
from bot.settings import Config


def config_of(source: Path | None, environ: Mapping[str, str], cwd: Path, *, secrets: bool) -> Config:
    """See bot.config.load. Raises ConfigError with every problem found."""
    base = cwd if source is None else (cwd / source).parent
    document = read(source, cwd) if source else Document({}, Where(None, {}))
    problems = [*apply_overrides(document, environ), *apply_references(document, environ, secrets=secrets)]
    problems += apply_vault(document, _data_dir(document, base), environ, secrets=secrets)
    config = None if problems else validate(document)
    if not isinstance(config, Config):
        raise ConfigError([document.where.line(problem) for problem in config or problems])
    return _with_absolute_paths(config, base)


def _with_absolute_paths(config: Config, base: Path) -> Config:
    return config.model_copy(
        update={
            "hub": config.hub.model_copy(update={"data_dir": absolute(config.hub.data_dir, base)}),
            "workspace": config.workspace.model_copy(update={"dir": absolute(config.workspace.dir, base)}),
            "policy": config.policy.model_copy(
                update={"file": None if config.policy.file is None else absolute(config.policy.file, base)}
            ),
        }
    )


def _data_dir(document: Document, base: Path) -> Path:
    """Where the vault is, before the document is known to be right."""
    hub = document.tree.get("hub")
    written = hub.get("data_dir") if isinstance(hub, dict) else None
    return absolute(Path(written if isinstance(written, str) and written else DATA_DIR), base)

"""Extensions in a running hub: connected as the store has them, at once when that changes.

The store is all that says which there are. The chat command, the tools, the console and commands change it,
and this follows.
"""

import asyncio
import importlib.util
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING

from bot.config.keys import VaultKeyRing
from bot.config.load import Loaded
from bot.config.sections import McpServer as ServerSettings
from bot.runtime import CALLBACK_PATH, StartError, authorities
from core.clock import Clock, Timers
from core.errors import SignInFailed, VaultError
from core.extension import Extension, ExtensionChange, ExtensionRefused
from core.ids import Ids
from core.inbound.extension_commands import ServerShown
from core.lazy import LazyModule
from core.safety.network import Exemption, Lookup, SystemLookup
from core.store.facets import SealedSecret
from core.store.feed import Changes
from core.store.port import Store
from core.store.units import patiently
from core.tools.builtin.extension_tools import sign_in_tools
from core.tools.builtin.web_tools import web_client
from core.tools.mcp.connection import ServerFailed
from core.tools.mcp.server import McpServers, Phase, ServerState
from core.tools.oauth import Client, OAuthClient
from core.tools.registry import ToolRegistry
from core.tools.sign_in import Notify, ServerTerms, SignIns
from core.tools.sign_out import SignOuts
from core.users import Principal
from core.vault import Vault, VaultKeys
from core.web import Interceptor

if TYPE_CHECKING:
    from bot.extensions import python
    from bot.mcp import build
else:
    python = LazyModule("bot.extensions.python")
    build = LazyModule("bot.mcp.build")

CONNECTED_WITHIN_S = 20.0
"""The wait of the person who adds an extension: a package manager may fetch the program first."""
MISSING = "The hub's extra `mcp` is not installed. Run: pip install 'hubbub[mcp]'"

logger = logging.getLogger(__name__)


class ExtensionManager:
    """The extensions of a running hub. Implements core.store.feed.ChangeListener, and the installer of
    core.tools.builtin.extension_tools."""

    def __init__(
        self,
        loaded: Loaded,
        store: Store,
        ring: VaultKeyRing,
        registry: ToolRegistry,
        servers: McpServers,
        clock: Clock,
        sign_ins: SignIns | None,
    ) -> None:
        self._loaded = loaded
        self._sign_ins = sign_ins
        self._store = store
        self._ring = ring
        self._registry = registry
        self._servers = servers
        self._clock = clock
        self._connected: dict[str, Extension] = {}
        self._faults: dict[str, str] = {}
        self._packages: Mapping[str, str] | None = None
        self._news = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()

    def changed(self, changes: Changes) -> None:
        if changes.extensions:
            self._news.set()

    async def run(self) -> None:
        """Follow the store until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self.follow()

    async def follow(self) -> None:
        """Connect and disconnect until it is as the store has it. Before recovery, this makes the tools known
        that a call may wait for."""
        async with self._one_at_a_time:
            stored = await patiently(self._store.extensions.extensions, self._clock)
            configured = self._loaded.config.mcp
            wanted = {one.name: one for one in stored if one.enabled and one.name not in configured}
            for name, held in tuple(self._connected.items()):
                if name not in wanted or not wanted[name].same_server(held):
                    del self._connected[name]
                    if self._sign_ins is not None:
                        self._sign_ins.leave(name)
                    await self._servers.drop(name)
            self._faults = {name: fault for name, fault in self._faults.items() if name in wanted}
            for name, one in wanted.items():
                if name not in self._connected:
                    await self._connect(one)
            if self._sign_ins is not None:
                self._registry.replace("sign-in", sign_in_tools(self._sign_ins))

    async def _connect(self, one: Extension) -> None:
        """Connect one. A failure is its own: it never stops the hub."""
        try:
            await asyncio.to_thread(import_module, "bot.mcp.build")  # takes a second, so not on the loop
            build.add_extension(
                self._servers,
                self._loaded,
                one,
                self._registry,
                self._clock,
                self._secret,
                self._sign_ins,
            )
        except ImportError:
            self._faults[one.name] = MISSING
        except ServerFailed as error:
            self._faults[one.name] = str(error)
        else:
            self._connected[one.name] = one
            self._faults.pop(one.name, None)
            return
        logger.warning("extensions.unusable name=%s error=%s", one.name, self._faults[one.name])

    async def _secret(self, name: str) -> str:
        try:
            keys = self._ring.keys()
        except StartError as error:
            raise VaultError(str(error)) from error
        if keys is None:
            raise VaultError("the vault has no key yet; store the secret with: hubbub secrets set")
        return await Vault(self._store.secrets, keys, self._clock).value(name)

    # --- what people see and do ------------------------------------------------------------------------

    def servers_of(self, principal: Principal) -> Mapping[str, ServerShown]:
        """Return the servers whose tools a person has, by name."""
        states, config = self._servers.states(), self._loaded.config
        shown: dict[str, ServerShown] = {}
        if principal.user_id == config.hub.owner:
            if self._packages is None:  # read once, since none is installed into a running hub
                self._packages = python.packages(config)
            shown |= {name: ServerShown(said, configured=True) for name, said in self._packages.items()}
        for name, settings in config.mcp.items():
            if name in states and principal.user_id in (settings.users or (config.hub.owner,)):
                shown[name] = ServerShown(in_words(states[name]), configured=True)
        for name, one in tuple(self._connected.items()):
            if name in states and one.owner_id == principal.user_id:
                shown[name] = ServerShown(in_words(states[name]), configured=False)
        return shown

    def signs_in(self, name: str, user_id: str) -> bool:
        """Return whether a person may sign in to a server of that name."""
        return self._sign_ins is not None and self._sign_ins.is_for(name, user_id)

    async def sign_in_link(self, name: str, by: Principal) -> str:
        """Return a new link at which a person signs in to a server. Raises SignInFailed, StoreError,
        VaultError."""
        if self._sign_ins is None:
            raise SignInFailed("There are no sign-ins here.")
        return (await self._sign_ins.link(name, by.user_id))[1]

    def state_of(self, one: Extension) -> str:
        """Describe the state of any person's extension."""
        if one.name in self._loaded.config.mcp:
            return "not used: the configuration has a server of this name"
        if not one.enabled:
            return "disabled"
        state = self._servers.states().get(one.name)
        return in_words(state) if state is not None else self._faults.get(one.name, "connecting")

    def configured_states(self) -> Mapping[str, str]:
        """Describe the states of the servers in the configuration, by name."""
        states = self._servers.states()
        return {name: in_words(states[name]) for name in self._loaded.config.mcp if name in states}

    async def install(self, extension: Extension, by: Principal) -> str:
        if extension.name in self._loaded.config.mcp:
            raise ExtensionRefused("That name is taken in this hub; choose another.")
        return f"{extension.name}: {await self.put(extension, by)}"

    async def put(self, extension: Extension, by: Principal) -> str:
        """Add an extension, or replace its owner's of that name, connect it, and return its state in words.
        Raises ExtensionRefused."""
        if importlib.util.find_spec("mcp") is None:
            raise ExtensionRefused(MISSING)
        await self._store.extensions.put_extension(extension, by.user_id)
        await self.follow()
        await self._servers.settled(extension.name, CONNECTED_WITHIN_S)
        names = [tool.name for tool in self._registry.brought(extension.name)]
        tools = f" Its tools: {', '.join(names)}" if names else ""
        return f"added; {self.state_of(extension)}.{tools}"

    async def remove(self, name: str, by: Principal) -> str:
        change = ExtensionChange.REMOVE
        if not await self._store.extensions.change_extension(name, by.user_id, change, by.user_id):
            raise ExtensionRefused("The person has no extension of that name.")
        await self.follow()
        return f"{name} was removed, and its tools with it."


def in_words(state: ServerState) -> str:
    """Describe a server's state."""
    match state.phase:
        case Phase.READY:
            refused = f", {len(state.refused)} refused" if state.refused else ""
            return f"ready, {state.tools} {'tool' if state.tools == 1 else 'tools'}{refused}"
        case Phase.CONNECTING:
            return "connecting"
        case Phase.FAILED:
            return f"failed: {state.reason}"


class _VaultSealer:
    """Implements core.tools.sign_out.Sealer."""

    def __init__(self, ring: VaultKeyRing, clock: Clock) -> None:
        self._ring = ring
        self._clock = clock

    def seal(self, name: str, value: str) -> SealedSecret:
        return self._keys().seal(name, value, self._clock.now())

    def open(self, secret: SealedSecret) -> str:
        return self._keys().open(secret)

    def _keys(self) -> VaultKeys:
        try:
            return self._ring.keys_to_seal()
        except StartError as error:
            raise VaultError(str(error)) from error


def build_sign_ins(
    loaded: Loaded,
    store: Store,
    ring: VaultKeyRing,
    clock: Clock,
    timers: Timers,
    ids: Ids,
    url: str,
    notify: Notify,
    learn: Callable[[Iterable[str]], None],
    lookup: Lookup | None,
    interceptor: Interceptor,
) -> SignIns:
    """Build people's sign-ins at the configured servers. `url`: where browsers here find the hub."""
    config = loaded.config
    exempt = [Exemption.parse(text) for text in config.network.allow_private]
    servers = {name: one for name, one in config.mcp.items() if one.people_sign_in}
    sealer = _VaultSealer(ring, clock)
    web = partial(web_client, tls=cache(authorities))
    oauth = OAuthClient(lookup or SystemLookup(), exempt, web, interceptor, clock)
    return SignIns(
        store.sign_ins,
        store.secrets,
        oauth,
        sealer,
        {name: _server_terms(loaded, one) for name, one in servers.items()},
        f"{config.http.public_url or _loopback(url)}{CALLBACK_PATH}",
        clock,
        ids,
        notify,
        SignOuts(store.sign_ins, oauth, sealer, clock, timers, notify),
        learn,
    )


def _server_terms(loaded: Loaded, settings: ServerSettings) -> ServerTerms:
    client = None
    if settings.client_id and settings.client_secret is None:
        client = Client(settings.client_id)
    elif settings.client_secret is not None:
        client = Client(settings.client_id, settings.client_secret.get_secret_value(), "client_secret_basic")
    return ServerTerms(
        settings.url or "", frozenset(settings.users or (loaded.config.hub.owner,)), client, settings.scopes
    )


def _loopback(url: str) -> str:
    """Return an address of this hub at which no other machine is reached (RFC 8252, 7.3)."""
    port = url.rpartition(":")[2]
    return f"http://[::1]:{port}" if url.startswith("http://[::1]") else f"http://127.0.0.1:{port}"

"""A server on another port of the same machine, as any program may start one, and what its pages try."""

import contextlib
from collections.abc import AsyncIterator, Sequence

from aiohttp import web

PAGE = "<!doctype html><title>Harmless</title><h1>Harmless</h1>"


class OtherPort:
    """Serves one page with the headers it is told to, and notes the cookies that browsers bring."""

    def __init__(self) -> None:
        self.url = ""
        self.headers: Sequence[tuple[str, str]] = ()
        self.cookies: list[str] = []

    async def page(self, request: web.Request) -> web.Response:
        """The page."""
        self.cookies.append(request.headers.get("Cookie", ""))
        answer = web.Response(text=PAGE, content_type="text/html")
        for name, value in self.headers:
            answer.headers.add(name, value)
        return answer


@contextlib.asynccontextmanager
async def other_port() -> AsyncIterator[OtherPort]:
    """The server, running."""
    other = OtherPort()
    app = web.Application()
    app.router.add_get("/", other.page)
    runner = web.AppRunner(app, max_line_size=1 << 21, max_field_size=1 << 21)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        other.url = f"http://{host}:{port}"
        yield other
    finally:
        await runner.cleanup()


Headers = Sequence[tuple[str, str]]


def answers_with_cookies(size_chars: int) -> dict[str, Sequence[Headers]]:
    """Return what answers on one port may do to the cookies of all; a browser takes at most 256 kB of headers
    in one answer, and about 180 cookies of one host."""
    return {
        "overwriting": [
            [
                ("Set-Cookie", f"{name}=theirs; Path={path}; Max-Age=9999; HttpOnly; SameSite=Strict")
                for name in ("hubbub_session", "hubbub-session", "X-Hubbub-Session")
                for path in ("/", "/api", "/login")
            ]
        ],
        "8 kB in one": [[("Set-Cookie", f"large={'x' * 8192}; Path=/")]],
        "clearing": [[("Clear-Site-Data", '"cookies", "storage", "executionContexts"')]],
        "200 cookies": [
            [("Set-Cookie", f"c{number}={'x' * size_chars}; Path=/") for number in range(first, first + 50)]
            for first in (0, 50, 100, 150)
        ],
    }


TRIES = """async (hub) => {
  const quiet = async (work) => { try { return await work(); } catch (error) { return String(error.name); } };
  const read = (path, init) => quiet(async () => (await fetch(hub + path, init)).status);
  const found = {};
  found.storage = Object.keys(localStorage);
  found.reads = [
    await read("/api/me", { credentials: "include" }),
    await read("/api/me", { headers: { "X-Hubbub-Session": "guess" } }),
    await read("/api/threads", { headers: { Authorization: "Bearer guess" } }),
    await read("/readyz"),
    await read("/metrics"),
    await read("/login", { method: "POST", body: '{"code": "x"}' }),
    await quiet(() => import(hub + "/static/session.js")),
  ];
  const blind = { mode: "no-cors", credentials: "include", method: "POST" };
  for (let one = 0; one < 15; one++) {
    await read("/login", { ...blind, body: JSON.stringify({ code: `guess ${one}` }) });
    navigator.sendBeacon(hub + "/login", JSON.stringify({ code: `beacon ${one}` }));
  }
  await read("/api/logout", blind);
  await read("/api/chat/send", { ...blind, body: '{"text": "planted"}' });
  await read("/api/tools/pause", blind);
  const opened = () => new EventSource(hub + "/api/events", { withCredentials: true });
  const streams = Array.from({ length: 40 }, opened);
  const settled = (one) => new Promise((resolve) => { one.onerror = one.onopen = resolve; });
  await Promise.all(streams.map(settled));
  found.streams = streams.filter((one) => one.readyState !== EventSource.CLOSED).length;
  const frame = document.createElement("iframe");
  frame.src = hub;
  const framed = new Promise((resolve) => frame.addEventListener("load", resolve));
  document.body.append(frame);
  await framed;
  found.framed = frame.contentDocument !== null || await quiet(() => frame.contentWindow.location.href);
  for (const path of ["/login", "/api/logout", "/api/chat/send"]) {
    const form = document.createElement("form");
    Object.assign(form, { method: "POST", enctype: "text/plain", action: hub + path, target: "sink" });
    const input = document.createElement("input");
    [input.name, input.value] = ['{"text": "planted', '"}'];
    form.append(input);
    document.body.append(form);
    form.submit();
  }
  return found;
}"""
"""Everything a page of another port can try by itself; what it learned."""

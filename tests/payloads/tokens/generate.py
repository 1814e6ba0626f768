"""Make the JSON and the log of this folder: `python generate.py`, the same each time."""

import hashlib
import json
import random
from pathlib import Path

HERE = Path(__file__).parent
SEED = 20260907


def record(dice: random.Random, number: int) -> dict[str, object]:
    return {
        "id": hashlib.sha256(str(number).encode()).hexdigest()[:24],
        "name": dice.choice(["Weekly report", "Invoice", "Backup job", "Release notes", "Door sensor"]),
        "createdAt": "2026-"
        f"{dice.randint(1, 12):02}-{dice.randint(1, 28):02}T{dice.randint(0, 23):02}:15:00Z",
        "total_cents": dice.randint(0, 10 ** dice.randint(2, 7)),
        "ratio": round(dice.random(), 6),
        "active": dice.random() < 0.5,
        "owner": {
            "email": f"person{dice.randint(1, 99)}@example.org",
            "roles": dice.sample(["admin", "dev", "ops"], 2),
        },
        "parent": None,
        "links": [f"https://example.org/api/v2/items/{dice.randint(1, 9999)}?page={dice.randint(1, 9)}"],
    }


def line(dice: random.Random, number: int) -> str:
    day, hour, minute = dice.randint(1, 28), dice.randint(0, 23), dice.randint(0, 59)
    at = f"2026-03-{day:02}T{hour:02}:{minute:02}:07.{dice.randint(0, 999):03}Z"
    host = f"10.1.{dice.randint(0, 255)}.{dice.randint(0, 255)}"
    digest = hashlib.sha1(str(number).encode(), usedforsecurity=False).hexdigest()
    return dice.choice(
        [
            f"{at} INFO sender.sent channel=main row={dice.randint(1, 99999)}"
            f" took_ms={dice.random() * 90:.1f}",
            f"{at} WARNING pool.slow waited_ms={dice.randint(100, 9000)} size=8 busy=8 trace={digest[:16]}",
            f'{host} - - "GET /static/app.{digest[:8]}.js HTTP/1.1" 304 0 "https://example.org/" "curl/8.1"',
            f'{at} ERROR job.failed id={digest} reason="timed out after {dice.randint(1, 300)} s"',
            f"[{number:6}.{dice.randint(0, 999999):06}] eth0: link up, 1000 Mbps, full duplex,"
            f" lpa 0x{digest[:4].upper()}",
        ]
    )


if __name__ == "__main__":
    dice = random.Random(SEED)
    records = [record(dice, number) for number in range(24)]
    text = json.dumps(records[:12], indent=2) + "\n" + json.dumps(records[12:], separators=(",", ":"))
    (HERE / "json.txt").write_text(text)
    (HERE / "logs.txt").write_text("\n".join(line(dice, number) for number in range(90)))

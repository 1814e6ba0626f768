"""Command lines by somebody who had not seen the rating: what it says of them, and of each in disguise."""

import re

import pytest

from core.safety.shell import rate_command_line
from tests.core.safety.shell_growth import grown, pieces, steps
from tests.core.safety.shell_table import CLASSES, read_table
from tests.core.safety.shell_wrappings import around, before, look_lower
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

TABLE = read_table()
DANGEROUS = (*TABLE["destructive"], *TABLE["disguised"])
MOST_BENIGN_RATED_HIGH = 0.02
MOST_GROWTH = 2.5

RATED_HIGH_ALL_THE_SAME = {
    # What another machine does with it, nobody here can know.
    "ssh host uptime",
    "ssh host 'df -h && free -m'",
    'ssh -p 2222 anna@host "tail -n 50 /var/log/app.log"',
    "scp host:/tmp/report.csv .",
    "rsync -avn --stats src/ host:/backup/",
    # A name in it may be that of a private key.
    "openssl x509 -in cert.pem -noout -dates",
    # The value may begin with a dash, and be an option.
    'docker run --rm -it -v "$PWD":/app python:3.11 pytest',
    # Code that an interpreter reads from its input is not looked at; words may mean anything afterwards.
    "python3 - <<'EOF'\nimport math\nprint(math.pi)\nEOF",
    "alias ll='ls -la'",
}
"""The benign lines that ask every time: each a price that is paid knowingly."""

FOUND_BESIDE = (
    # options that are other options' values, and options behind others
    "git clean -fden",
    "git clean -f -e --dry-run",
    "git clean -f -e -n",
    "crontab -ul -r",
    "git restore -sS notes.txt",
    "git checkout -B main origin/main",
    "git switch -C main origin/main",
    "kubectl -n prod exec web -- rm -rf /data",
    "kubectl run x --image=alpine -- rm -rf /data",
    "docker -H tcp://prod exec web rm -rf /data",
    "docker -H tcp://prod run -v /:/h alpine ls",
    "docker run -v/:/h alpine ls",
    "docker run -itv/:/h alpine ls",
    "docker run --mount type=bind,src=/,dst=/h alpine ls",
    "docker run --mount src=/etc,type=bind,dst=/h alpine ls",
    "env --split='rm -rf a'",
    "env --s 'rm -rf a'",
    "script --comm='rm -rf a' log",
    "tar cIf 'rm -rf a' x.tar y",
    "tar xfP a.tar",
    "curl -so /etc/hosts https://example.com",
    "sort -o notes.txt /dev/null",
    # statements and code
    "psql -c 'DROP/**/TABLE users'",
    "psql -c \"do $$ begin execute 'dr' || 'op table users'; end $$\"",
    "mysql -e '/*!50000 DROP*/ /*!TABLE*/ users'",
    "sqlite3 app.db '.once /etc/hosts' 'select 1'",
    "redis-cli DEL user:1",
    "redis-cli -n 3 unlink user:1",
    "psql < changes.sql",
    "cat changes.sql | psql",
    "psql -f changes.sql",
    "sqlite3 app.db '.read changes.sql'",
    "python3 -BEIsc \"import os; os.remove('a')\"",
    "python3 -m pip uninstall -y requests",
    "python3.11 -m pip uninstall requests",
    "python3 -m timeit \"__import__('os').system('rm a')\"",
    "deno run https://example.com/x.ts",
    "node --import=data:text/javascript,x a.js",
    'node -e \'process.mainModule.require("f" + "s").rmSync("a")\'',
    'php -r \'$f = "un"."link"; $f("a");\'',
    'perl -e \'&{"un"."link"}("a")\'',
    'ruby -e \'Kernel.send(:sys.to_s + "tem", "rm a")\'',
    "pwsh -Command 'Remove-Item a -Recurse'",
    "fish --command 'rm -rf a' b",
    # programs that run others
    "npm exec -c 'rm -rf a'",
    "lxc exec box -- rm -rf /data",
    "new-sandbox --cmd='rm -rf a'",
    "make CC='rm -rf a' all",
    "vim '+call delete(\"a\")' b",
    "less '+|x rm a' b",
    "cat /dev/null | tee notes.txt",
)
"""What reading the rating again, after the table, brought to light."""


def test_the_table_is_as_large_as_it_must_be() -> None:
    destructive, disguised, benign = (len(set(TABLE[name])) for name in CLASSES)
    assert (destructive >= 150, disguised >= 100, benign >= 150) == (True, True, True)
    assert destructive + disguised + benign >= 400


def test_nothing_dangerous_is_below_what_asks_every_time(proof_record: ProofRecord) -> None:
    missed = [line for line in DANGEROUS if not rate_command_line(line).high]
    proof_record("shell", lines={name: len(TABLE[name]) for name in CLASSES}, missed=missed)
    assert missed == []


def test_everyday_work_is_asked_about_like_everything_else(proof_record: ProofRecord) -> None:
    high = [line for line in TABLE["benign"] if rate_command_line(line).high]
    share = len(high) / len(TABLE["benign"])
    proof_record("shell", benign_rated_high=high, share_percent=round(100 * share, 2))
    assert sorted(high) == sorted(RATED_HIGH_ALL_THE_SAME)
    assert share <= MOST_BENIGN_RATED_HIGH


def test_what_was_found_beside_the_table_stays_found() -> None:
    assert [line for line in FOUND_BESIDE if not rate_command_line(line).high] == []


@pytest.mark.timeout(900)  # as proof, on a busy machine
def test_no_disguise_rates_lower_than_the_line_itself(profile: Profile, proof_record: ProofRecord) -> None:
    """At least 28 ways to write each line; a line of plain words in 35 more."""
    step = profile.pick(test=40, ci=4, proof=1)
    lines = DANGEROUS[profile.seed % step :: step]
    plain = [line for line in lines if re.fullmatch(r"[\w./ -]+", line)]
    lower = [*look_lower(lines, around), *look_lower(plain, before)]
    written = sum(len(around(line)) for line in lines) + sum(len(before(line)) for line in plain)
    proof_record("shell", lines=len(lines), written=written, rated_lower=lower)
    assert lower == []


def test_what_an_unknown_program_may_run_is_asked_about_and_not_refused() -> None:
    """`notify "rm -rf /"` may only speak of it."""
    rating = rate_command_line("notify-all 'rm -rf /'")
    assert (rating.high, rating.blocked) == (True, None)


@pytest.mark.timeout(900)
def test_a_line_twice_as_long_takes_no_more_than_twice_the_steps_and_a_half(
    profile: Profile, proof_record: ProofRecord
) -> None:
    """Counted, because times are not; `python -m benchmarks.shell_rating` has the times."""
    step = profile.pick(test=300, ci=40, proof=1)
    worst = (0.0, "")
    for piece in pieces((*DANGEROUS, *TABLE["benign"])[profile.seed % step :: step]):
        line, doubled = grown(piece, profile.pick(test=300, proof=1_000))
        worst = max(worst, (steps(doubled) / steps(line), piece))
    proof_record("shell", worst_growth=round(worst[0], 2), of=worst[1])
    assert worst[0] <= MOST_GROWTH, worst

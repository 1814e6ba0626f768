"""Command lines are rated low by what is known to do no harm, and by nothing else; their names are exact."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ToolFailed
from core.safety.paths import PathGuard, outside_path
from core.safety.places import LineFails
from core.safety.shell.lexer import Joiner, Plan, Program, Step
from core.safety.shell.rating import Level, ShellRating, judge
from core.tool import Need
from tests.core.safety.shell_figures import everyday, rated, rated_low, unattended
from tests.core.safety.shell_lines import BENIGN, BLOCKED, DESTRUCTIVE
from tests.core.safety.shell_table import (
    CLASSES,
    FIFTH,
    FIFTH_CLASSES,
    FOURTH,
    FOURTH_CLASSES,
    SIXTH,
    SIXTH_CLASSES,
    THIRD,
    THIRD_CLASSES,
    read_table,
)
from tests.core.safety.shell_workspace import make_workspace
from tests.plugins.proof import ProofRecord

SECOND = read_table()
TABLES = (
    SECOND,
    read_table(THIRD, THIRD_CLASSES),
    read_table(FOURTH, FOURTH_CLASSES),
    read_table(SIXTH, SIXTH_CLASSES),
)
FIFTH_TABLE = read_table(FIFTH, FIFTH_CLASSES)
HARMFUL = tuple(
    line
    for table in TABLES
    for name in ("destructive", "disguised", "harmful", "harmful-known")
    for line in table.get(name, ())
)
EVERYDAY = tuple(
    line
    for table in TABLES
    for name in ("benign", "everyday", "everyday-known", "asked")
    for line in table.get(name, ())
)
LEAST_PLAIN_PERCENT = 85
LEAST_UNASKED_PERCENT = 70
LEAST_UNATTENDED = 25


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> PathGuard:
    return make_workspace(tmp_path_factory.mktemp("workspace"))


def test_the_tables_are_as_large_as_they_must_be() -> None:
    destructive, disguised, benign = (len(set(SECOND[name])) for name in CLASSES)
    assert (destructive >= 150, disguised >= 100, benign >= 150) == (True, True, True)
    assert len(set(HARMFUL)) >= 1_700
    assert len(set(EVERYDAY)) >= 950


def test_nothing_harmful_is_rated_below_always_ask(guard: PathGuard, proof_record: ProofRecord) -> None:
    low = rated_low([*BLOCKED, *DESTRUCTIVE, *HARMFUL, *FIFTH_TABLE["harmful"]], guard)
    proof_record("shell", harmful=len(HARMFUL), rated_low=low)
    assert low == []


def test_destructive_commands_are_refused_in_every_mode(guard: PathGuard) -> None:
    assert [line for line in BLOCKED if (one := rated(line, guard)) is None or one.blocked is None] == []
    started = [f"{by} rm -rf /" for by in ("timeout 9", "timeout 1.5s", "nice -n 10", "nice -n 1 timeout 9")]
    assert [line for line in started if (one := rated(line, guard)) is None or one.blocked is None] == []
    others = [*DESTRUCTIVE, *BENIGN, "echo 'rm -rf /'", "notify-all 'rm -rf /'", "ls /home", "find / -name x"]
    assert [line for line in others if (one := rated(line, guard)) is not None and one.blocked] == []


def test_most_everyday_lines_are_plain_and_unasked_after_one_always(
    guard: PathGuard, proof_record: ProofRecord
) -> None:
    found = everyday([*BENIGN, *EVERYDAY, *FIFTH_TABLE["everyday"]], guard)
    proof_record("shell", everyday=found.lines, plain=found.plain, unasked_after_one_always=found.unasked)
    assert 100 * found.plain >= LEAST_PLAIN_PERCENT * found.lines
    assert 100 * found.unasked >= LEAST_UNASKED_PERCENT * found.lines


def test_most_unattended_tasks_run_with_few_grants(guard: PathGuard, proof_record: ProofRecord) -> None:
    tasks = FIFTH_TABLE["unattended"]
    within = unattended(tasks, guard, most=3)
    proof_record("shell", unattended=len(tasks), within_three_grants=within)
    assert (len(tasks), within) >= (30, LEAST_UNATTENDED)


def test_a_card_says_why_it_asks(guard: PathGuard) -> None:
    reasons = {
        line: judge(line, guard).reason
        for line in ("rm a", "git log --exec=x", "cat ../x", "a $b", "git push -f")
    }
    assert reasons == {
        "rm a": "rm is not on the list of harmless commands.",
        "git log --exec=x": "git log: --exec is not on the list of its harmless options.",
        "cat ../x": "cat: ../x is not a plain path (without .. and a leading -).",
        "a $b": "This line contains $ outside quotes.",
        "git push -f": "git push: -f is not on the list of its harmless options.",
    }


@given(st.text(max_size=60))
def test_judging_raises_only_for_lines_that_fail(text: str) -> None:
    try:
        rating = judge(text, PathGuard(Path("/nonexistent")))
    except ToolFailed:
        return
    assert rating.level is Level.ALWAYS_ASK
    assert rating.plan is not None or rating.needs == (Need(text, exactly=True),)


# --- what grants are called -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line,needs,pattern",
    [
        ("git log -5", [("git log -5", "@git log")], "@git log"),
        ("ls | head -3; ls", [("ls", "@ls"), ("head -3", "@head")], "@ls\n@head"),
        ("ls && rm 'a b'", [("ls", "@ls"), ("rm 'a b'", None)], None),
        ("echo x > out.txt", [("> out.txt echo x", None)], "> out.txt echo x"),
        ("echo x >> 'a b.txt' 2>&1", [(">> 'a b.txt' echo x", None)], ">> 'a b.txt' echo x"),
        ("sort < a.txt 2>/dev/null", [("< a.txt sort", None)], "< a.txt sort"),
        ("cd src && sort < a.py", [("< src/a.py sort [in src]", None)], "< src/a.py sort [in src]"),
        ("cd src && ls", [("ls [in src]", "@ls")], "@ls"),
        (
            "curl -s https://example.com/",
            [("curl -s https://example.com/", None)],
            "curl -s https://example.com/",
        ),
        ("echo '*'", [("echo '*'", "@echo")], "@echo"),
        ("pytest '*'", [("pytest '*'", None)], None),
        ("'@git' log", [("'@git' log", None)], None),
        ("'@git log'", [("'@git log'", None)], None),
        ("git commit -m 'a\nb'", [("git commit -m 'a\nb'", "@git commit")], "@git commit"),
        ("echo 'a\nb' > out.txt", [("> out.txt echo 'a\nb'", None)], None),
        ("sh build.sh 'a\nb'", None, None),
        ("timeout 9 git log -5", [("timeout 9 git log -5", "@timeout git log")], "@timeout git log"),
        ("nice -n 5 cp a.txt b.txt", [("nice -n 5 cp a.txt b.txt", None)], "nice -n 5 cp a.txt b.txt"),
    ],
)
def test_a_line_is_called_by_its_words_and_rows(
    line: str, needs: list[tuple[str, str | None]] | None, pattern: str | None, guard: PathGuard
) -> None:
    rating = judge(line, guard)
    if needs is not None:
        assert [(need.name, need.row) for need in rating.needs] == needs
    assert not any(need.exactly for need in rating.needs)
    assert rating.pattern == pattern
    assert pattern is None or rating.level is Level.LOW


def test_a_line_that_is_not_plain_is_called_by_its_text_alone(guard: PathGuard) -> None:
    rating = judge("for f in *; do echo $f; done", guard)
    assert (rating.plan, rating.pattern, rating.level) == (None, None, Level.ALWAYS_ASK)
    assert rating.needs == (Need("for f in *; do echo $f; done", exactly=True),)


# --- redirects --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [".bashrc", ".git/hooks/pre-commit", "src/.hidden", "build.sh", "notes.txt", "linked/x"]
)
def test_no_grant_covers_writes_to_existing_or_hidden_files_or_scripts(
    path: str, guard: PathGuard, tmp_path: Path
) -> None:
    assert judge(f"echo x > {path}", PathGuard(_with_links(tmp_path))).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "path", ["Makefile", "bin/x", "run", "new.py", "notes.txt", ".bashrc", "CMakeLists.txt"]
)
def test_no_always_makes_a_file_that_others_run(path: str, tmp_path: Path) -> None:
    guard = make_workspace(tmp_path)
    (tmp_path / "Makefile").unlink()
    assert judge("date | tee new.txt", guard).level is Level.LOW
    assert judge(f"date | tee {path}", guard).level is Level.ALWAYS_ASK


def test_writing_is_bound_to_what_the_file_held(tmp_path: Path) -> None:
    guard = PathGuard(_with_links(tmp_path))
    assert judge("echo x > new.md", guard).digests == {"new.md": "absent"}
    assert judge("echo x >> notes.txt", guard).digests == {}  # what is there stays
    assert judge("echo x >> second.txt", guard).level is Level.ALWAYS_ASK


def test_a_standing_grant_to_write_covers_documents_alone(tmp_path: Path) -> None:
    guard = PathGuard(_with_links(tmp_path))
    assert judge("echo x >> notes.txt", guard).pattern == ">> notes.txt echo x"
    for line in ("echo x > new.py", "echo x >> built"):
        rating = judge(line, guard)
        assert (rating.level, rating.pattern) == (Level.LOW, None), line
    assert judge("echo x > bin/tool", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize("line,asked", [("echo x > main.py", True), ("echo x > notes.txt", False)])
def test_after_cd_a_redirect_is_judged_by_the_file_it_opens(line: str, asked: bool, tmp_path: Path) -> None:
    """One file is only where the line is, the other only where it comes from."""
    guard = make_workspace(tmp_path)
    (tmp_path / "main.py").unlink()
    rating = judge(f"cd src && {line}", guard)
    assert (rating.level is Level.ALWAYS_ASK) == asked
    assert rating.digests.keys() == {f"src/{line.split()[-1]}"}


@pytest.mark.parametrize(
    "line", ["echo x > /etc/x", "cat < .env", "echo x > linked/x", "cat < linked/x", "cat < server.key"]
)
def test_a_redirect_to_a_closed_path_always_asks(line: str, tmp_path: Path) -> None:
    rating = judge(line, PathGuard(_with_links(tmp_path)))
    assert (rating.level, rating.pattern) == (Level.ALWAYS_ASK, None)


def _with_links(root: Path) -> Path:
    make_workspace(root)
    (root / "second.txt").hardlink_to(root / "words.txt")
    (root / "linked").symlink_to("/tmp")
    return root


# --- wildcards --------------------------------------------------------------------------------------------


def test_wildcards_are_expanded_before_rating_and_display(tmp_path: Path) -> None:
    guard = make_workspace(tmp_path)
    rating = judge("cd src && wc -l *.py 2>/dev/null | sort", guard)
    wc = Program(
        ("wc", "-l", "a.py", "main.py"), rating.plan.steps[0].programs[0].redirects if rating.plan else ()
    )
    assert rating.plan == Plan((Step(Joiner.THEN, (wc, Program(("sort",)))),), "src")
    assert rating.shown == "cd src && wc -l a.py main.py 2> /dev/null | sort"
    assert rating.needs[0] == Need("wc -l a.py main.py [in src]", "@wc")
    (tmp_path / "src/z.py").touch()
    again = judge("cd src && wc -l *.py 2>/dev/null | sort", guard)
    assert again.digests != rating.digests
    (tmp_path / "src/-rf.py").touch()
    assert "./-rf.py" in judge("cd src && wc *.py", guard).shown
    (tmp_path / "src/server.key").touch()
    assert judge("cd src && cat s*", guard).level is Level.ALWAYS_ASK


@pytest.mark.parametrize(
    "pattern,names",
    [
        ("*.txt", ["Z.txt", "a b.txt", "a.txt", "é.txt"]),
        ("?.txt", ["Z.txt", "a.txt", "é.txt"]),
        ("*/", ["in/", "linked/"]),
        ("*/*.py", ["in/x.py", "linked/x.py"]),
        ("./i*/x.py", ["./in/x.py"]),
        ("'a'*", ["a b.txt", "a.txt"]),
        (".github/*.yml", [".github/ci.yml"]),
        ("*", ["./-rf", "Z.txt", "a b.txt", "a.txt", "dangling", "in", "linked", "out", "é.txt"]),
        ("out/*", None),
        ("*/passwd", None),
        ("nothing*", None),
        ("*.[t]xt", None),
    ],
)
def test_wildcards_match_as_in_bash_but_nothing_hidden_or_outside(
    pattern: str, names: list[str] | None, tmp_path: Path
) -> None:
    root = tmp_path / "workspace"
    for name in ("Z.txt", "a.txt", "a b.txt", "é.txt", "in/x.py", ".hidden.txt", "-rf", ".github/ci.yml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (tmp_path / "passwd").touch()
    (root / "linked").symlink_to("in")
    (root / "out").symlink_to(tmp_path)
    (root / "dangling").symlink_to("nowhere")
    if names is None:
        try:
            plan = judge(f"echo {pattern}", PathGuard(root)).plan
        except LineFails as failed:
            assert "matches" in str(failed)  # noqa: PT017
        else:
            assert plan is None
    else:
        plan = judge(f"echo {pattern}", PathGuard(root)).plan
        assert plan is not None
        assert plan.steps[0].programs[0].argv[1:] == tuple(names)


def test_a_line_expands_to_at_most_a_thousand_names(tmp_path: Path) -> None:
    for number in range(1_001):
        (tmp_path / f"{number}.log").touch()
    with pytest.raises(LineFails, match="more than 1000 names"):
        judge("ls *.log", PathGuard(tmp_path))
    (tmp_path / "0.log").unlink()
    assert judge("ls *.log", PathGuard(tmp_path)).plan is not None
    with pytest.raises(LineFails, match="more than 1000 names"):
        judge("ls *.log; ls 1*", PathGuard(tmp_path))


def test_a_name_that_cannot_be_shown_fails_the_line(tmp_path: Path) -> None:
    for name in ("a\nb", "c\x1b[0m", "d\u202ee"):
        (tmp_path / name).touch()
        with pytest.raises(LineFails, match="can't be shown"):
            judge(f"ls {name[0]}*", PathGuard(tmp_path))


# --- places -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "grep -rn x .",
        "grep -r -- x",
        "rg x",
        "rg -- x",
        "diff -r src docs",
        "tar czf new.tgz .",
        "cp -r . copy",
    ],
)
def test_a_directory_is_read_whole_only_where_nothing_in_it_is_closed(line: str, tmp_path: Path) -> None:
    guard = make_workspace(tmp_path)
    assert judge(line, guard).level is Level.LOW
    for name in (".env", "gh/hosts.yml"):  # the second is suspect in its folder alone
        closed = tmp_path / "docs/deep" / name
        closed.parent.mkdir(parents=True, exist_ok=True)
        closed.write_text("secret")
        assert judge(line, guard).level is Level.ALWAYS_ASK, name
        closed.unlink()
    assert judge(line, PathGuard(tmp_path, [tmp_path / "docs/index.md"])).level is Level.ALWAYS_ASK


def test_a_directory_with_a_link_out_of_it_is_not_read_whole(tmp_path: Path) -> None:
    guard = make_workspace(tmp_path)
    (tmp_path / "docs/link").symlink_to("/etc/hosts")
    assert judge("diff -r src docs", guard).level is Level.ALWAYS_ASK


def test_programs_are_looked_up_outside_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    linked = tmp_path.parent / f"{tmp_path.name}-bin"
    linked.symlink_to(tmp_path / "bin")
    path = f"/usr/bin:{tmp_path}/bin:.:bin::../bin:{tmp_path}:{linked}:/bin"
    assert outside_path(path, PathGuard(tmp_path)) == "/usr/bin:/bin"


def test_a_rating_has_a_level_a_plan_needs_and_a_pattern(guard: PathGuard) -> None:
    assert judge("true", guard) == ShellRating(
        Level.LOW,
        Plan((Step(Joiner.THEN, (Program(("true",)),)),)),
        (Need("true", "@true"),),
        pattern="@true",
    )


@pytest.mark.parametrize(
    "line",
    [
        "cat /proc/self/environ",
        "cat /proc/1/environ",
        "grep -r TOKEN /proc",
        "head -c 9 /proc/self/mem",
        "ps eaux",
        "cat /dev/sda",
    ],
)
def test_a_grant_of_a_reading_program_does_not_cover_running_processes(line: str, guard: PathGuard) -> None:
    rating = judge(line, guard)
    assert (rating.level, [need.row for need in rating.needs]) == (Level.ALWAYS_ASK, [None])


BEYOND = r"""
awk '{ print > "x" }' a
awk '{ print $1 > 5 }' a
awk 'BEGIN{system("x")}'
awk '{ print | "sh" }' a
awk 'BEGIN { ARGV[1] = "/etc/passwd" }' a
awk '{ getline x < "/etc/passwd" }' a
awk '{ @f() }' a
awk '{ x = 1 / 1 > "evil"; y = 1 / 1 }' a
awk '1' x=1 a
awk -v x=1 1 a
awk -f a
awk 'BEGIN{print ENVIRON[1]}'
sed 's/a/b/w x' a
sed 's/a/b/e' a
sed -n '1e x' a
sed 'w x' a
sed 'r /etc/passwd' a
sed -i p a
sed -f a b
sed 'p;w x' a
sed '1,$w x' a
sed 's/a/b/;e' a
sed --in-place p a
sed 's,a,b,w x' a
sed 'F;W x' a
jq 'import "a" as a; .' a
jq 'include "a"; .' a
jq 'env' a
jq '$ENV' a
jq -f a
jq -L x . a
jq --args . a
find . -exec x
find . -delete
find . -fprint x
find -L .
sort -o x a
sort --compress-program=x a
uniq a b
uniq -- a b
cat -- .env
sort -- ../x
date -s now
date 010100002030
hostname x
tar tf evil:x
tar xf x.tgz
tar czf x.tgz src
tree -o x
git show :x
git log --format='%G?'
git diff a:b
git diff ':(top)x'
git diff '*.key'
git diff --no-index a b
kubectl get pod/x secret/y
curl -L https://example.com
curl http://example.com
curl -o x https://example.com
curl -d @a https://example.com
sqlite3 file:x 'select 1'
sqlite3 app.db 'select load_extension(1)'
psql -c 'select a into b'
psql -c 'select 1; drop x'
timeout 5 rm x
timeout 5 nice -n 1 ls
timeout -s KILL 5 ls
timeout 5 env A=1 ls
timeout 5 cat .env
timeout 0 ls
timeout 5
nice -n -5 ls
nice ls
nice -n 5 timeout 5 ls
perf stat -o x ls
perf record ls
env -i ls
env A=1 ls
env ls
sort -u list.txt -o list.txt
sort -o new.py list.txt
sort -o new.txt list.txt a.txt
mv a.txt list.txt src/main.py
mv a.txt list.txt missing/
mv a.txt src/../a.txt data/
mv src/a.py src/a.py docs/
mv data.csv data/orders.csv docs/../data
mv a.txt .git/
mv -f a.txt data/
mv -- a.txt list.txt missing
ln -s /etc x
ln -s ../x x
ln -s a src/x
ln -s src x
ln -s .env x
ln -s a .bashrc
ln a x
ln -sf a list.txt
git reset HEAD~1
git reset missing
git reset main
git reset -- main
rsync -av src host:x
rsync -av --delete src new
rsync -av -e sh src new
rsync -av . data
curl -o new.py https://example.com
curl -o notes.txt https://example.com
curl -L -o new.txt https://example.com
docker pull --all-tags x
docker pull -
kubectl diff -f https://example.com/x
kubectl diff -f src
kubectl diff -f -
kubectl diff -f '*.yaml'
kubectl diff -k src
cloc --config x .
cloc x.tgz
cloc --vcs=git .
node -e 'require("x")'
node -p 1
perl -e 'print "$ENV{A}"'
perl -e 'print "@{[1]}"'
ruby -e 'puts `x`'
python3 -c 'import os; print(os.name)'
ruff check --config x src
ruff check --config 'fix=true' src
ruff check --add-noqa src
ruff check --output-file x src
ruff check --unsafe-fixes --fix src
ruff clean
ruff server
black -c x
black --config x src
black --include . src
mypy --config-file x src
mypy --python-executable ./x src
mypy --install-types src
mypy --html-report x src
mypy -c x
flake8 --config x
flake8 --output-file x
isort --settings-path x src
isort --add-import 'import evil' src
autoflake -i -r src
autoflake --config x src
git rebase --continue --exec x
git rebase --edit-todo
git rebase --abort
git rebase --skip
git rebase -i main
git rebase --continue main
helm template chart
helm template ./chart --post-renderer ./x
helm template ./chart -f .env
helm template ./chart --enable-dns
helm template https://example.com/x.tgz
helm template ./../chart
go list all
go list ./...
go list -m -u all
go list -mod=mod -m all
go list -m -json all
cargo tree --manifest-path x
cargo tree --config x
""".strip().splitlines()


@pytest.mark.parametrize("line", BEYOND)
def test_arguments_beyond_a_programs_rule_need_approval(line: str, guard: PathGuard) -> None:
    rating = judge(line, guard)
    assert (rating.level, [need.row for need in rating.needs]) == (Level.ALWAYS_ASK, [None])

"""An Always on each row of the table, then attempts to do more with it: asked about again, or refused."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.consent.decide import covered
from core.errors import ToolError
from core.safety.paths import PathGuard
from core.safety.shell.rating import Level, judge
from core.safety.shell.table import Row, table
from tests.core.safety.shell_workspace import make_workspace
from tests.plugins.profile import Profile

SAMPLES = """
echo hello
printf '%s' a
true
false
sleep 1
seq 1 3
expr 1 + 2
bc -l
basename a/b.txt
dirname a/b.txt
test -f notes.txt
openssl rand -hex 16
cat notes.txt
head -n 5 notes.txt
tail -n 5 notes.txt
tac notes.txt
rev notes.txt
nl notes.txt
wc -l notes.txt
sort -u names.txt
uniq -c names.txt
cut -d, -f1 data.csv
tr a-z A-Z
paste a.txt b.txt
column -t data.csv
fold -w 80 notes.txt
strings notes.txt
nm -C a
od -c notes.txt
zcat x.tgz
join a.txt b.txt
diff -u old.txt new.txt
cmp a.txt b.txt
comm -12 a.txt b.txt
md5sum a.txt
sha1sum a.txt
sha256sum a.txt
sha512sum a.txt
cksum a.txt
grep -rn TODO src
rg TODO src
sed -n 1,5p notes.txt
awk '{ print $1 }' data.csv
jq .a data.json
tar tzf x.tgz
unzip -l x.tgz
ls -la src
tree src
find src -name '*.py'
stat -c %s a.txt
file a.txt
realpath a.txt
readlink -f a.txt
du -sh src
df -h
pwd
which python3
date +%F
cal 2026
whoami
id -u
groups
hostname
uname -a
arch
nproc
uptime
free -h
lsblk
lscpu
ps aux
printenv PATH
kill -l
crontab -l
systemctl status nginx
systemctl is-active nginx
journalctl -u nginx
docker ps -a
docker images
docker logs web
pip list
pip list --outdated
pip show requests
python3 --version
python --version
python3 -V
python -V
gcc --version
node --version
git --version
mkdir -p x/y
touch fresh.txt
chmod +x notes.txt
cp a.txt fresh.txt
mv a.txt fresh.txt
tar czf fresh.tgz src
curl -s https://example.com/x
ping -c 1 example.com
dig example.com
gh pr list
gh issue list
gh run list
kubectl get pods
kubectl describe pod
kubectl logs web
aws s3 ls s3://bucket
sqlite3 app.db 'select a from b'
psql -c 'select a from b'
git status -s
git log -5 src
git diff HEAD
git show HEAD:README.md
git blame README.md
git grep TODO
git shortlog -sn HEAD
git merge-base main HEAD
git rev-parse HEAD
git rev-list --count HEAD
git describe --tags
git ls-files
git cherry -v main
git show-ref --heads
git check-ignore -v src
git ls-tree HEAD
git reflog
git stash list
git stash show
git remote -v
git remote get-url origin
git worktree list
git branch -a
git branch topic
git tag -l
git tag v1
git tag -a v1 -m one
git switch -c topic
git checkout -b topic
git checkout topic
git config user.name
git merge topic
git stash
git stash pop
git fetch
git pull
git push origin main
git clone https://example.com/us/it.git
git add README.md
git commit -m one
make test
sh build.sh
bash build.sh
./build.sh
python3 script.py
python script.py
less -N notes.txt
bat -p notes.txt
base64 notes.txt
xxd notes.txt
hexdump -C notes.txt
iconv -f ISO-8859-1 -t UTF-8 notes.txt
egrep -i one notes.txt
fgrep -i one notes.txt
zgrep -c one x.gz
ag TODO src
fd -e py
fd -e py main
yq .services docker-compose.yml
xmllint --noout feed.xml
pdfinfo a.pdf
pdftotext a.pdf -
7z l backup.7z
cpio -it
openssl version
openssl x509 -in cert.crt -noout -dates
python3 -m json.tool data.json
python -m json.tool data.json
gofmt -l src
clang-format --dry-run src/main.c
shellcheck build.sh
terraform fmt -check src
xargs -n1 basename
python3 -c 'print(1 + 1)'
python -c 'print(1 + 1)'
pdfunite a.pdf b.pdf fresh.pdf
pandoc -s notes.md -o fresh.html
git commit --amend --no-edit
git reset --soft HEAD~1
git format-patch -o fresh HEAD~3
gh pr checkout 5
man grep
php -v
php --version
perl -v
ruby --version
docker --version
docker version
docker stats --no-stream
docker system df
docker volume ls
docker network ls
docker compose ps
docker compose logs --tail=50 api
pip check
pip freeze
apt list --installed
apt-cache search postgresql
apt-cache policy nginx
apt-cache show nginx
dpkg -l
dpkg -S /bin/ls
rpm -qa
brew list
top -b -n 1
pgrep -f gunicorn
kill -0 4242
lsof -i :8080
ss -tlnp
netstat -an
ifconfig
ip addr
ip link
ip route
route -n
tc qdisc show
iptables -L -n
ufw status
mount
dmesg
tmux ls
tmux list-sessions
screen -ls
ssh-add -l
systemctl list-units --failed
systemctl list-timers
systemctl is-enabled nginx
systemctl --user status app.service
service nginx status
kind get clusters
minikube status
multipass list
lxc list
gcloud config list
aws configure list
kubectl config current-context
tee fresh.txt
gzip -k notes.txt
zip -r fresh.zip src
mysql -e 'show tables'
pg_dump app
mysqldump shop
redis-cli ping
redis-cli --scan
host example.com
nslookup example.com
traceroute example.com
pip index versions requests
brew search ripgrep
gh auth status
gh secret list
kubectl top nodes
helm list -A
aws sts get-caller-identity
nomad job status web
mc ls local
vault status
npm --version
npm ls --depth=0
npm outdated
npm view react versions
git branch -m topic
git switch --track origin/topic
git checkout --track origin/topic
git restore --staged README.md
git clean -n
git help reset
git bisect start
git archive -o fresh.tar.gz HEAD
git cherry-pick abc1234
git rebase main
git rebase --continue
helm template ./chart
npm test
npm run build
pnpm run build
yarn build
yarn run build
ruff check --no-fix src
ruff check --fix src
ruff format --check src
ruff format src
black --check src
black src
flake8 src
isort --check src
isort src
autoflake -r src
mypy src
go list -m all
go version
go doc fmt.Printf
cargo --version
rustc --version
cargo tree --depth 1
timeout 5 ls src
nice -n 10 ls src
perf stat ls src
node -e 'console.log(process.version)'
ruby -e 'puts RUBY_VERSION'
perl -e 'print "hi\\n"'
cloc --json src
git reset README.md
ln -s a b
sort -u list.txt -o fresh.txt
rsync -av src fresh
mv a.txt list.txt data/
curl -s -o fresh.html https://example.com/x
docker pull postgres:16
kubectl diff -f config.yaml
""".strip().splitlines()

ONLY_SAYS = frozenset({"echo", "printf", "true", "false", "expr"})
"""Whatever their words are, they print them, or nothing: no word is an option that does more."""
ONLY_COMPARES = frozenset({"basename", "dirname", "test", "git tag"})
"""What looks like a path in these places is text that is taken apart or compared, and opens nothing."""
NAMES_ONLY = frozenset(
    {
        "which",
        "printenv",
        "systemctl status",
        "systemctl is-active",
        "docker images",
        "docker logs",
        "pip show",
        "fd",
        "man",
        "docker stats",
        "apt list",
        "apt-cache search",
        "apt-cache policy",
        "apt-cache show",
        "dpkg",
        "rpm",
        "brew list",
        "systemctl is-enabled",
        "systemctl --user status",
    }
)
"""Their words name programs, variables, services and packages; a word without a slash is no path to them."""
MORE = (
    *(
        "--unheard",
        "-@",
        "--output=out",
        "--output=/etc/x",
        "--config=evil",
        "--exec=sh",
        "--exec",
        "--pre=sh",
    ),
    *("--files0-from=list.txt", "--compress-program=sh", "--ext-diff", "--no-index", "--textconv", "-C/etc"),
    *(
        "--git-dir=x",
        "--to-command=sh",
        "--checkpoint-action=exec=sh",
        "--remove-files",
        "--delete",
        "--delete-after",
    ),
    *(
        "--execute",
        "--force",
        "--hard",
        "-D",
        "--env-file=x",
        "--host=evil",
        "--remote=evil",
        "--upload-pack=sh",
        "-K/etc",
    ),
)
EXPRESSIONS = (
    "-exec sh",
    "-execdir sh",
    "-ok sh",
    "-delete",
    "-fprint x",
    "-fls x",
    "-L",
    "-H",
    "-files0-from x",
)
PATHS = (
    *(
        "../x",
        "/etc/shadow",
        "src/../../x",
        ".env",
        "server.key",
        ".ssh/id_rsa",
        "out",
        "out/passwd",
        "passwd-link",
    ),
    *("closed", "closed/token", "logs/second", "../*", "/dev/sda", "~root"),
)
AROUND = (
    *(
        "env {}",
        "env A=1 {}",
        "xargs {}",
        "sudo {}",
        "nice {}",
        "timeout 5 {}",
        "nohup {}",
        "watch {}",
        "busybox {}",
    ),
    *(
        "A=1 {}",
        "LD_PRELOAD=./x.so {}",
        "PATH=. {}",
        "time {}",
        "command {}",
        "exec {}",
        "eval {}",
        "/bin/{}",
        "./x {}",
    ),
    *(
        "{} | sh",
        "{} | tee x",
        "{} | xargs rm",
        "rm x | {}",
        "{}; rm -r x",
        "{} && rm -r x",
        "{} || rm x",
        "{} & rm x",
    ),
    *(
        "{}\nrm x",
        "{} $(rm x)",
        "{} `rm x`",
        "{} > out.txt",
        "{} > .git/hooks/pre-commit",
        "{} > ../x",
        "{} 2> out.txt",
    ),
    *(
        "{} >> Makefile",
        "{} < ../x",
        "{} < .env",
        "{} > out/x",
        "! {}",
        "({})",
        "{} \\\n",
        "cd /etc && {}",
        "cd out && {}",
    ),
)


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> PathGuard:
    """A workspace with links out of it, credentials, and places that are closed, one under a second name."""
    return _workspace(tmp_path_factory, ".env")


@pytest.fixture(scope="module")
def guard_without_env(tmp_path_factory: pytest.TempPathFactory) -> PathGuard:
    """The same, without what `docker compose` obeys."""
    return _workspace(tmp_path_factory, None)


@pytest.fixture(scope="module")
def guard_without_links(tmp_path_factory: pytest.TempPathFactory) -> PathGuard:
    """One that tools which look through all of it find nothing in but what they know."""
    return make_workspace(tmp_path_factory.mktemp("workspace"))


def _workspace(tmp_path_factory: pytest.TempPathFactory, env: str | None) -> PathGuard:
    root = tmp_path_factory.mktemp("workspace")
    make_workspace(root)
    outside = tmp_path_factory.mktemp("outside")
    (outside / "passwd").write_text("secret")
    (root / "out").symlink_to(outside)
    (root / "passwd-link").symlink_to(outside / "passwd")
    for name in filter(None, (env, "server.key", "closed/token")):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("secret")
    os.link(root / "closed/token", root / "logs/second")
    return PathGuard(root, [root / "closed", root / "closed/token"])


def attempts(sample: str, row: Row) -> Iterator[str]:
    """Lines that want more than the sample."""
    name = row.name if row.name != "./" else "./build.sh"
    rest = sample.removeprefix(name)
    says = row.name in ONLY_SAYS
    if not says:
        yield from (f"{name} {more}{rest}" for more in MORE if more.partition("=")[0] not in row.options)
        yield from (f"{name} {more}{rest}" for more in EXPRESSIONS if row.written.get("style") == "find")
        paths = [path for path in PATHS if row.name not in NAMES_ONLY or not path[0].isalpha() or "/" in path]
        yield from (f"{sample} {path}" for path in paths if row.name not in ONLY_COMPARES)
    for option, written in row.options.items():
        if option.startswith("--") and len(option) > 4 and option[:-1] not in row.options:
            yield f"{name} {option[:-1]}{rest}"  # an abbreviation
        if written.kind is None and option.startswith("--"):
            yield f"{name} {option}=x{rest}"
        if written.kind is None and not written.many and option != "-NUM":
            yield f"{name} {option} {option}{rest}"
    yield from (around.format(sample) for around in AROUND)
    if not says and row.name not in ONLY_COMPARES:
        yield from (f"{sample} -- {path}" for path in PATHS if row.name not in NAMES_ONLY or "/" in path)


def is_covered(line: str, patterns: list[str | None], guard: PathGuard) -> bool:
    """Return whether the grants cover it, in whatever mode."""
    try:
        rating = judge(line, guard)
    except ToolError:
        return False
    return rating.blocked is None and covered(patterns, rating.needs, rated=True)


def row_of(sample: str) -> Row:
    """The row by its longest name."""
    words = sample.split()
    names = ["./"] if sample.startswith("./") else [" ".join(words[:length]) for length in (3, 2, 1)]
    return next(rows[0] for name in names if (rows := table().get(name)))


def test_every_row_has_a_sample() -> None:
    assert Counter(row_of(sample).name for sample in SAMPLES) == {
        name: len(rows) for name, rows in table().items()
    }


@pytest.mark.parametrize("sample", SAMPLES)
def test_an_always_covers_no_attempt_to_do_more(
    sample: str,
    guard: PathGuard,
    guard_without_env: PathGuard,
    guard_without_links: PathGuard,
    profile: Profile,
) -> None:
    guard = guard_without_env if sample.startswith("docker compose") else guard
    guard = guard_without_links if sample.startswith(("cargo", "rustc", "go ", "mypy")) else guard
    first = judge(sample, guard)
    assert (first.level, first.blocked, first.reason) == (Level.LOW, None, "")
    assert first.pattern is not None
    granted: list[str | None] = [*first.pattern.split("\n")]
    assert is_covered(sample, granted, guard)
    tried = list(
        dict.fromkeys(line for row in table()[row_of(sample).name] for line in attempts(sample, row))
    )
    assert len(tried) >= 40
    step = profile.pick(test=4, ci=1, proof=1)
    assert [line for line in tried[len(sample) % step :: step] if is_covered(line, granted, guard)] == []


def test_a_home_in_the_workspace_could_hold_configuration(tmp_path: Path) -> None:
    guard = make_workspace(tmp_path)
    assert judge("git status", guard, home="/home/o").level is Level.LOW
    for home in (tmp_path, tmp_path / "src"):
        assert judge("git status", guard, home=str(home)).level is Level.ALWAYS_ASK

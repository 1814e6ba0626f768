# The hub as an image. Nothing is fetched while it is built: `make wheels` fills build/wheels first.
# BASE is any image with Python 3.11 and its venv module; both stages and the wheels have to agree on it.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
WORKDIR /src
COPY build/wheels wheels
COPY requirements/runtime.txt requirements/
RUN python3 -m venv /opt/hubbub \
    && /opt/hubbub/bin/pip install --quiet --disable-pip-version-check --no-index --find-links wheels \
        --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE config.example.toml ./
COPY bot bot
COPY channels channels
COPY hubbub hubbub
COPY core core
RUN /opt/hubbub/bin/pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation . \
    && /opt/hubbub/bin/pip uninstall --quiet --yes hatchling pip

FROM ${BASE}
# A number, so that an orchestrator can see that it is not root.
RUN groupadd --gid 10001 hubbub \
    && useradd --uid 10001 --gid hubbub --home-dir /data --no-create-home --shell /usr/sbin/nologin hubbub \
    && install -d -o hubbub -g hubbub -m 0700 /data
COPY --from=build /opt/hubbub /opt/hubbub
ENV PATH=/opt/hubbub/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HUBBUB__HUB__DATA_DIR=/data/hub \
    HUBBUB__WORKSPACE__DIR=/data/workspace \
    HUBBUB__HTTP__HOST=0.0.0.0 \
    HUBBUB__HTTP__PORT=8765 \
    HUBBUB__HTTP__PUBLIC_URL=http://127.0.0.1:8765
USER 10001:10001
# Everything that is kept: the database, keys, the workspace; hubbub.toml is read from here if it is there.
VOLUME /data
WORKDIR /data
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
ENTRYPOINT ["hubbub"]
CMD ["run"]

"""Names under which credentials lie, and names that only look so."""

import pytest

from core.safety.path_names import names_credentials


@pytest.mark.parametrize(
    "name",
    [
        *(".ssh", ".aws", ".kube", ".docker", ".gnupg", ".netrc", ".npmrc", ".git-credentials", ".pgpass"),
        *(".env", ".env.local", ".env.production", ".envrc", ".ENV", ".Ssh", "server.PEM"),
        *(
            "hubbub.env",
            "prod.env",
            "server.pem",
            "tls.key",
            "store.p12",
            "store.pfx",
            "java.jks",
            "app.keystore",
            ".key",
        ),
        *("id_rsa", "id_ed25519", "id_ecdsa_sk", "id_rsa.bak", "authorized_keys", "known_hosts"),
        *(".bash_history", ".zsh_history", ".history", ".python_history", ".psql_history"),
    ],
)
def test_names_of_credential_files_are_recognized(name: str) -> None:
    assert names_credentials(name)


@pytest.mark.parametrize(
    "name",
    [
        *(".env.example", ".env.template", ".env.local.sample", ".env.dist", "env", "env.py", ".gitignore"),
        *("keys.txt", "key", "monkey.py", "id_service", "id_map.json", "history", "history.md", "ssh"),
        *("notes.txt", "gcloud", "hosts.yml", "docker", "server.pem.dist", "", "部署.md"),
    ],
)
def test_other_names_are_not_credentials(name: str) -> None:
    assert not names_credentials(name)


@pytest.mark.parametrize(
    "folder, name, counts",
    [
        (".config", "gcloud", True),
        ("src", "gcloud", False),
        ("gh", "hosts.yml", True),
        ("ansible", "hosts.yml", False),
    ],
)
def test_some_names_count_only_in_their_folder(folder: str, name: str, *, counts: bool) -> None:
    assert names_credentials(name, folder) is counts

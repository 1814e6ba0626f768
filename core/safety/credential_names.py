"""Names under which credentials usually lie; a file so named is not for tools, wherever it is.

What counts is the name alone, in any case of letters: keys and certificates' stores, the folders and files in
which well-known programs keep logins, environment files, and the histories of shells and database clients.
Examples kept beside the real thing (`.env.example`) don't count.
"""

import re

_FOLDERS = frozenset({".ssh", ".aws", ".azure", ".kube", ".docker", ".gnupg"})
_FILES = frozenset(
    {".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".vault-token"}
    | {"authorized_keys", "known_hosts"}
)
_IN_FOLDER = frozenset({(".config", "gcloud"), ("gh", "hosts.yml"), ("gh", "hosts.yaml")})
"""Folder and name: neither means anything alone."""
_KINDS = re.compile(
    r"""\.env(?!.*\.(?:example|template|sample|dist)$).* | .*\.env
      | .*\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx)
      | id_(?:rsa|dsa|ecdsa|ed25519|xmss).*
      | \.(?:\w+_)?history
    """,
    re.VERBOSE | re.DOTALL,
)


def names_credentials(name: str, folder: str = "") -> bool:
    """Whether a file or folder called `name`, in one called `folder`, is one that holds credentials."""
    name, folder = name.casefold(), folder.casefold()
    return (
        name in _FOLDERS
        or name in _FILES
        or (folder, name) in _IN_FOLDER
        or _KINDS.fullmatch(name) is not None
    )

"""The address of an endpoint: what looks wrong about it, and why nobody is reached there.

A base URL is used as given and never guessed at; what looks wrong is only said, and only once it has failed.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from judge.client.wire import checked, shown_url
from judge.config import Endpoint
from judge.doctor.finding import Finding
from judge.errors import ConfigError

_ROUTE = re.compile(r"/(?:chat/completions|completions|responses|embeddings|models)/?$")
_REACH_S = 5.0


def check_address(endpoint: Endpoint, purposes: Sequence[str]) -> Finding:
    """Whether there is an address and a model to ask at all; `purposes` are what they are asked for."""
    asked_for = f"for {', '.join(purposes)}"
    # What is no URL is not shown: it may be a key in the wrong variable.
    if endpoint.base_url and not _is_url(endpoint.base_url):
        return Finding("fail", "endpoint", f"judge.base_url is no URL ({asked_for})", "write https://HOST/v1")
    try:
        where = shown_url(checked(endpoint))
    except ConfigError as error:
        what, _, remedy = error.message.partition(": ")
        return Finding("fail", "endpoint", f"{what} ({asked_for})", remedy)
    facts = {"base_url": where, "model": endpoint.model, "purposes": list(purposes)}
    return Finding("ok", "endpoint", f"{where}, model {endpoint.model}, {asked_for}", facts=facts)


def check_proxy(endpoint: Endpoint) -> Finding | None:
    """A proxy stands between this machine and itself; None where none does."""
    names = proxies(endpoint)
    if not names or not is_local(endpoint):
        return None
    host = urlsplit(endpoint.base_url or "").hostname
    what = f"{' and '.join(names)} would send requests for {host}, this machine, through a proxy"
    return Finding("warn", "proxy", what, f"add {host} to NO_PROXY")


def is_local(endpoint: Endpoint) -> bool:
    """Whether the address is a loopback one."""
    host = urlsplit(endpoint.base_url or "").hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def proxies(endpoint: Endpoint) -> list[str]:
    """The variables whose proxy requests to the endpoint go through; their values may hold passwords."""
    parts = urlsplit(endpoint.base_url or "")
    if proxy_bypass(parts.hostname or ""):
        return []
    names = (f"{parts.scheme}_proxy", "all_proxy")
    return sorted(name for name, value in os.environ.items() if name.lower() in names and value)


def suspicion(endpoint: Endpoint) -> str:
    """What to change about a base URL that looks wrong; "" where it looks right."""
    where = shown_url(endpoint)
    if urlsplit(endpoint.base_url or "").username:
        return "take the user name and password out of the base URL: a key belongs into JUDGE_API_KEY"
    if _ROUTE.search(where):
        return f"give the base URL without the route, which the client adds: {_ROUTE.sub('', where)}"
    if not re.search(r"/v\d", urlsplit(where).path):
        return f"the base URL has no /v1, with which most end: try {where.rstrip('/')}/v1"
    return ""


def unreached(endpoint: Endpoint) -> str:
    """What to do about a connection that came to nothing; tries one of its own to see why."""
    if names := proxies(endpoint):
        return (
            f"the way leads through the proxy of {' and '.join(names)}: mend it, or add the host to NO_PROXY"
        )
    parts = urlsplit(endpoint.base_url or "")
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((host, port), timeout=_REACH_S).close()
    except socket.gaierror:
        return f"no such host: {host} has no address here; check its spelling, DNS and VPN"
    except ConnectionRefusedError:
        return f"connection refused: nothing listens on {host}:{port}; start the server, or correct the port"
    except TimeoutError:
        return f"{host}:{port} does not react: a firewall, or a machine that is off"
    except OSError as error:
        return f"{host}:{port} cannot be reached: {error.strerror or error}"
    return (
        f"{host}:{port} is there but breaks the connection: check http:// against https://, the certificate, "
        "and the server's log"
    )


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False

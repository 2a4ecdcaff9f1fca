"""A real OpenSearch node on loopback, in a temporary directory."""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scripts.opensearch import ANALYSIS, SERVER, VERSION
from tests.ports import free_port

START_TIMEOUT_S = 300
ANALYSIS_PLUGIN = {
    "name": "analysis-common",
    "description": "analysers of languages",
    "classname": "org.opensearch.analysis.common.CommonAnalysisPlugin",
}


SETTINGS = {"discovery.type": "single-node", "http.host": "127.0.0.1", "transport.host": "127.0.0.1"}


@contextmanager
def open_search() -> Iterator[str]:
    """Start a node, and yield its URL. Where we are root it runs as another user, since it refuses root."""
    with tempfile.TemporaryDirectory(prefix="opensearch-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        home = _unpack(Path(folder))
        url = _configure(home)
        user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if user:
            subprocess.run(["chown", "-R", f"{user.pw_uid}:{user.pw_gid}", folder], check=True)
        log = home / "output"
        with log.open("w") as output:
            node = subprocess.Popen(
                [home / "bin/opensearch"], cwd=home, stdout=output, stderr=subprocess.STDOUT, env=_environment(),
                user=user and user.pw_uid, group=user and user.pw_gid, extra_groups=[] if user else None,
            )  # fmt: skip
        try:
            _wait(node, url, log)
            yield url
        finally:
            node.kill()
            node.wait()


def _unpack(folder: Path) -> Path:
    shutil.unpack_archive(SERVER, folder)
    home = folder / f"opensearch-{VERSION}"
    for program in (home / "bin").iterdir():
        program.chmod(0o755)
    analysis = home / "modules" / ANALYSIS_PLUGIN["name"]
    analysis.mkdir()
    shutil.copy(ANALYSIS, analysis)
    descriptor = (home / "modules/transport-netty4/plugin-descriptor.properties").read_text()
    for name, value in ANALYSIS_PLUGIN.items():
        descriptor = re.sub(rf"^{name}=.*$", f"{name}={value}", descriptor, flags=re.MULTILINE)
    (analysis / "plugin-descriptor.properties").write_text(descriptor)
    return home


def _configure(home: Path) -> str:
    port = free_port()
    ports = {"http.port": port, "transport.port": free_port()}
    lines = [f"{name}: {value}\n" for name, value in (SETTINGS | ports).items()]
    (home / "config/opensearch.yml").write_text("".join(lines))
    return f"http://127.0.0.1:{port}"


def _environment() -> dict[str, str]:
    java = shutil.which("java")
    assert java
    return {
        "PATH": os.environ["PATH"],
        "OPENSEARCH_JAVA_HOME": str(Path(java).resolve().parent.parent),
        "OPENSEARCH_JAVA_OPTS": "-Xms512m -Xmx512m",
    }


def _wait(node: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    give_up_at = time.monotonic() + START_TIMEOUT_S
    while True:
        with suppress(OSError), urllib.request.urlopen(f"{url}/_cluster/health?wait_for_status=yellow"):
            return
        assert node.poll() is None, log.read_text()
        assert time.monotonic() < give_up_at, log.read_text()
        time.sleep(0.2)

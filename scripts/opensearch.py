"""Fetches a real OpenSearch from Maven Central for the tests of publishing, if possible. Never fails.

It is the distribution that OpenSearch itself is tested with: the server and its HTTP transport. The module with the
language analysers is a separate package. Both stay packed, in .cache/.
"""

import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "2.19.3"
CACHE = Path(__file__).resolve().parent.parent / ".cache" / "opensearch"
SERVER = CACHE / f"opensearch-{VERSION}.zip"
ANALYSIS = CACHE / f"analysis-common-{VERSION}.jar"
ARTIFACTS = {
    SERVER: f"org.opensearch.distribution.integ-test-zip:opensearch:{VERSION}:zip",
    ANALYSIS: f"org.opensearch.plugin:analysis-common:{VERSION}",
}
FETCH_TIMEOUT_S = 300


def main() -> int:
    for file, artifact in ARTIFACTS.items():
        if not file.exists():
            fetch(artifact)
    if not is_complete():
        skipped = "SKIPPED: publishing to a real OpenSearch. Install Java 17 and Maven, or set ELASTICSEARCH_URL."
        print(f"\033[1m{skipped}\033[0m" if sys.stderr.isatty() else skipped, file=sys.stderr)
    return 0


def is_complete() -> bool:
    return shutil.which("java") is not None and all(file.exists() for file in ARTIFACTS)


def fetch(artifact: str) -> None:
    if maven := shutil.which("mvn"):
        print(f"Fetching {artifact}, for the tests of publishing …", file=sys.stderr)
        command = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={CACHE}"]
        try:
            subprocess.run(command, capture_output=True, timeout=FETCH_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            print("Maven did not answer in time.", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

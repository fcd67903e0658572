"""A Ray cluster of three nodes on this machine, each with a disk of its own, as far as runs are concerned.

It prints where it is. Each line that it reads kills a node; at the end of its input it ends.
"""

import json
import socket
import sys
from pathlib import Path
from typing import Any

from ray.cluster_utils import Cluster

MEMORY = 80 * 2**20


def node(folder: Path, number: int) -> dict[str, Any]:
    """Return what a node is started with."""
    disk = folder / f"disk-{number}"
    disk.mkdir(exist_ok=True)  # it may be a file system of its own
    return {
        "num_cpus": 1,
        "object_store_memory": MEMORY,
        "include_dashboard": False,
        "env_vars": {"TMPDIR": str(disk)},
    }


def main(folder: Path) -> None:
    """Start the cluster, kill nodes as it is told, and end it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    head = {**node(folder, 0), "ray_client_server_port": port}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    others = [cluster.add_node(**node(folder, number)) for number in (1, 2)]
    places = {
        "address": cluster.address,
        "client": f"ray://127.0.0.1:{port}",
        "session": cluster.head_node.get_session_dir_path() if cluster.head_node else "",
    }
    print(json.dumps(places), flush=True)  # noqa: T201  whoever started it reads it
    for _ in sys.stdin:
        cluster.remove_node(others.pop(), allow_graceful=False)
        print("killed", flush=True)  # noqa: T201
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(Path(sys.argv[1]))

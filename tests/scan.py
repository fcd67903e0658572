"""The scan that docs/inspect.md shows, in the working directory; it prints what Scout found.

It is a program of its own, since Scout leaves connections and event loops open.
"""

import runpy

import inspect_scout
import tiktoken

FOUND = ["transcript_id", "transcript_task_id", "transcript_score", "value", "validation_result"]


def main() -> None:
    """Scan the logs in `logs` by the scanner in `scanning.py`, beside the targets in `raids.csv`."""
    # Scout counts the tokens of each question, with an encoding that it would fetch from the internet.
    tiktoken.registry.ENCODINGS["o200k_base"] = tiktoken.Encoding(
        "o200k_base", pat_str=".|\n", mergeable_ranks={bytes([k]): k for k in range(256)}, special_tokens={}
    )
    status = inspect_scout.scan(
        [runpy.run_path("scanning.py")["raids"]()],
        transcripts=inspect_scout.transcripts_from("logs"),
        scans="scans",
        validation={"raids": inspect_scout.validation_set("raids.csv")},
        model="openai-api/scanner/any",
        max_processes=1,
        display="none",
    )
    found = inspect_scout.scan_results_df(str(status.location)).scanners["raids"]
    print(found[FOUND].to_json(orient="records"))  # noqa: T201  a program


if __name__ == "__main__":
    main()

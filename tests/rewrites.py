"""Changes of what was recorded, as if it had been recorded so."""

import json

from hobbes.engine.record import sha256
from hobbes.store.home import Store
from hobbes.store.row_hashes import call_hash, column_hashes, turn_hash


def rewrite(store: Store) -> None:
    """Let the hashes of all rows follow from the rows, and the digests of all turns from their records."""
    for row in store.runs.rows():
        store.runs.update(row["id"], column_hashes=json.dumps(column_hashes(row)))
        for call in list(store.calls.rows_unchecked(row["id"])):
            store.db.execute(
                "update calls set row_hash = ? where run = ? and turn = ? and agent = ? and attempt = ?",
                [call_hash(call), call["run"], call["turn"], call["agent"], call["attempt"]],
            )
        run, digest = store.runs.find(row["id"]), ""
        for turn in list(store.turns.unchecked(run)):
            digest = sha256(f"{run.digest_before(turn.turn, digest)}{turn.text}")
            row_hash = turn_hash((run.id, turn.turn, turn.text, digest, turn.ledgers_text, turn.ended))
            store.db.execute(
                "update turns set digest = ?, row_hash = ? where run = ? and turn = ?",
                [digest, row_hash, run.id, turn.turn],
            )
        store.runs.update(run.id, digest=run.digest_before(run.turns, digest))

"""What the rules of the log act on: the state, the ids seen so far, and one journal.

Pure. The state holds what recovery needs; the ledger adds what only references need (which ids,
operations, attempts and intents exist). All of it grows by what a fact adds, so the cost of a
fact does not depend on the length of the log.
"""

from __future__ import annotations

from agent.canonical import digest
from agent.facts import JSONObject, Message
from agent.journal import Journal
from agent.state import Compaction, Header, Idle, Run, SessionState, Turn


class Refusal(Exception):  # noqa: N818 - internal: the reducer makes a SessionError of it
    """A fact breaks a rule. `code` is one of the contract's, `args[0]` the message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Ledger:
    """State, references and journal of one log. Every change goes through `journal`."""

    def __init__(self, header: Header, length: int) -> None:
        self.journal = Journal()
        self.state = SessionState(header, length, greatest_id=header.id)
        self.ids: set[str] = {header.id}  # used or reserved
        self.awaited: set[str] = set()  # reserved for a result that is not durable yet
        self.entries: set[str] = set()  # message entries
        self.operations: set[str] = set()
        self.attempts: dict[str, str] = {}  # attempt -> its operation
        self.intents: dict[str, str] = {}  # toolStarted -> its operation
        self._configuration: tuple[JSONObject, str] | None = None  # last one checked

    def take_id(self, id_: str) -> None:
        """Use an id for the first time."""
        self.journal.add(self.ids, id_)
        if id_ > self.state.greatest_id:
            self.journal.assign(self.state, "greatest_id", id_)

    def reserve(self, **named: str) -> None:
        """Reserve new ids for what they name. Refuses one that is in use (contract, section 4)."""
        for name, id_ in named.items():
            if id_ in self.ids:
                raise Refusal("DUPLICATE_ID", f"{name} {id_} is in use already; ids are used once")
            self.take_id(id_)

    def current(self, operation_id: str) -> Run | Compaction:
        """The unfinished operation, which a fact names as its own."""
        operation = self.state.operation
        if not isinstance(operation, Idle) and operation.operation_id == operation_id:
            return operation
        if operation_id not in self.operations:
            raise Refusal("INVALID_REFERENCE", f"operationId {operation_id} names no operation")
        raise Refusal("INVALID_TRANSITION", f"operation {operation_id} is finished already")

    def turn(self) -> Turn | None:
        """The last assistant message of the unfinished run."""
        operation = self.state.operation
        return operation.turn if isinstance(operation, Run) else None

    def known_entry(self, name: str, entry_id: str) -> None:
        """Refuse a reference to a message entry that does not exist."""
        if entry_id not in self.entries:
            raise Refusal("INVALID_REFERENCE", f"{name} {entry_id} names no message entry")

    def append_message(self, entry_id: str, message: Message) -> None:
        """Make a message the last one of transcript, context and boundary."""
        state, journal = self.state, self.journal
        journal.append(state.transcript, message)
        journal.append(state.entry_ids, entry_id)
        journal.append(state.active_context, message)
        journal.add(self.entries, entry_id)

    def checked_configuration(self, snapshot: JSONObject, claimed: str) -> JSONObject:
        """The snapshot, whose digest is as claimed. Equal snapshots are checked and kept once."""
        if self._configuration is None or self._configuration[0] != snapshot:
            self._configuration = (snapshot, digest(snapshot))
        known, actual = self._configuration
        if actual != claimed:
            raise Refusal(
                "INVALID_FACT", f"configurationDigest is {claimed}, the snapshot's is {actual}"
            )
        return known

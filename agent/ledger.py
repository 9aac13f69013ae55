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

# What an id can name, where rules ask for it. Other nouns only say that the id is in use.
MESSAGE = "message entry"
OPERATION = "operation"
STEP = "step"
ATTEMPT = "attempt"
INTENT = "toolStarted"
AWAITED = "result"  # reserved for a result that is not durable yet


class Refusal(Exception):  # noqa: N818 - internal: the reducer makes a SessionError of it
    """A fact breaks a rule. `code` is one of the contract's, `args[0]` the message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Ledger:
    """State, references and journal of one log.

    Changes go through `journal`, ids through `take` and `reserve`; `commit` keeps both and
    `rollback` takes both back.
    """

    def __init__(self, header: Header, length: int) -> None:
        self.journal = Journal()
        self.state = SessionState(header, length, greatest_id=header.id)
        self.ids: dict[str, str] = {header.id: "header"}  # used or reserved -> what it names
        self.attempts: dict[str, str] = {}  # attempt -> its operation
        self.intents: dict[str, str] = {}  # toolStarted -> its operation
        self._taken: list[str] = []  # new ids of the line that is being applied
        self._configuration: tuple[JSONObject, str] | None = None  # last one checked

    def take(self, id_: str, noun: str) -> None:
        """Use an id that is not in use."""
        self.ids[id_] = noun
        self._taken.append(id_)

    def reserve(self, **named: str) -> None:
        """Take new ids for what they name. Refuses one that is in use (contract, section 4)."""
        for noun, id_ in named.items():
            if id_ in self.ids:
                raise Refusal("DUPLICATE_ID", f"{noun} id {id_} is in use; ids are used once")
            self.take(id_, noun)

    def is_new(self, id_: str) -> bool:
        """The id was taken by the transaction that is being applied."""
        return id_ in self._taken

    def fulfil(self, result_id: str, noun: str) -> None:
        """Use a reserved result id for its result."""
        self.journal.replace(self.ids, result_id, noun)

    def commit(self) -> None:
        """Keep the line."""
        self.journal.commit()
        self.state.greatest_id = max((self.state.greatest_id, *self._taken))
        self._taken.clear()

    def rollback(self) -> None:
        """Forget the line."""
        self.journal.rollback()
        for id_ in self._taken:
            del self.ids[id_]
        self._taken.clear()

    def current(self, operation_id: str) -> Run | Compaction:
        """The unfinished operation, which a fact names as its own."""
        operation = self.state.operation
        if not isinstance(operation, Idle) and operation.operation_id == operation_id:
            return operation
        self.known("operationId", operation_id, OPERATION)
        raise Refusal("INVALID_TRANSITION", f"operation {operation_id} is finished already")

    def turn(self) -> Turn | None:
        """The last assistant message of the unfinished run."""
        operation = self.state.operation
        return operation.turn if isinstance(operation, Run) else None

    def known(self, name: str, id_: str, noun: str) -> None:
        """Refuse a reference to what does not exist."""
        if self.ids.get(id_) != noun:
            raise Refusal("INVALID_REFERENCE", f"{name} {id_} names no {noun}")

    def append_message(self, message: Message, entry_id: str) -> None:
        """Make a message the last one of transcript, context and boundary."""
        state, append = self.state, self.journal.append
        append(state.transcript, message)
        append(state.entry_ids, entry_id)
        append(state.active_context, message)

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

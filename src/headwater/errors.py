"""Every refusal Headwater can give, in one tree.

    HeadwaterError
    ├── Invalid                 what was given cannot be used
    │   ├── InvalidUrl
    │   ├── InvalidFeed
    │   ├── InvalidProposal
    │   └── InvalidSettings
    ├── NotLoggedIn             nobody knows who asks
    │   └── WrongPassword
    ├── Forbidden               whoever asks may not
    │   ├── RegistrationClosed
    │   └── SetupCodeNeeded
    ├── TooManyAttempts         whoever asks, asks too often
    │   ├── QuotaReached
    │   └── TooManyRequests
    ├── NotFound                what was asked for is not here
    │   ├── SourceNotFound
    │   ├── FeedNotFound
    │   ├── SubmissionNotFound
    │   ├── NoArticles
    │   └── UrlNotFound
    ├── Conflict                what was asked for clashes with what is here
    │   ├── SourceExists
    │   ├── SourceIsOff
    │   ├── NotApproved
    │   ├── RetryRefused
    │   ├── NothingToPoll
    │   ├── HostBusy
    │   ├── AlreadySubscribed
    │   ├── TooManyFeeds
    │   ├── FeedTaken
    │   ├── AlreadyDecided
    │   ├── LastAdministrator
    │   ├── EmailTaken
    │   ├── TokenNameTaken
    │   ├── IndexMismatch
    │   └── PortTaken
    └── Unavailable             nobody's fault: try again, or mend the machine
        ├── DatabaseUnavailable
        │   ├── Deadlock
        │   └── QueryTimedOut
        ├── IndexUnavailable
        ├── IssuerUnavailable
        ├── AiUnavailable
        ├── SummaryFailed
        ├── EmbeddedServerFailed
        ├── SchemaBehind
        ├── SchemaTooNew
        ├── SchemaUnreleased
        ├── MigrationFailed
        └── RightsMissing

What the outside world does to us (a feed that is gone, a host that hangs) is not here: that is a value, see
`net/types.py` and `polling/types.py`. HTTP statuses and exit codes are given at the edges: `asgi/errors.py` and
`cli/exit_codes.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID


class HeadwaterError(Exception):
    """The base of everything above. Its text is written for the person who reads it."""


class Invalid(HeadwaterError):
    """What was given cannot be used."""


class InvalidUrl(Invalid):
    """A URL that Headwater will not follow."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url!r} is not a URL that can be followed: {reason}")
        self.url = url
        self.reason = reason


class InvalidFeed(Invalid):
    """What a reader typed cannot be followed; a message for each field that is wrong."""

    def __init__(self, *, name: str = "", url: str = "") -> None:
        super().__init__(name or url)
        self.name = name
        self.url = url


class InvalidProposal(Invalid):
    """A feed that cannot be suggested for everybody: a sentence for each field, and the feeds that its page names."""

    def __init__(self, problems: Mapping[str, str], offers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(" ".join(problems.values()))
        self.problems = dict(problems)
        self.offers = tuple(offers)  # each its address and its title


class InvalidSettings(Invalid):
    """One or more settings have a wrong value, or a name that does not exist."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class NotLoggedIn(HeadwaterError):
    """Nobody knows who asks."""

    def __init__(self, message: str = "Log in first.") -> None:
        super().__init__(message)


class WrongPassword(NotLoggedIn):
    """The address or the password is wrong; which of them is not told."""

    def __init__(self) -> None:
        super().__init__("Invalid email or password")


class Forbidden(HeadwaterError):
    """Whoever asks may not."""


class RegistrationClosed(Forbidden):
    """New accounts are made by an administrator."""

    def __init__(self) -> None:
        super().__init__("Registration is closed here. Ask an administrator for an account.")


class SetupCodeNeeded(Forbidden):
    """The first account of an instance that others can reach is made by whoever can read its console."""

    def __init__(self) -> None:
        super().__init__(
            "The set-up code is missing or wrong. Headwater prints it when it starts, and so does "
            "`headwater user setup-code`."
        )


class TooManyAttempts(HeadwaterError):
    """Whoever asks, asks too often."""

    def __init__(self, retry_after: timedelta, *, advice: str = "") -> None:
        minutes = max(1, round(retry_after / timedelta(minutes=1)))
        super().__init__(f"Too many attempts. {advice}Try again in {minutes} minute{'s' if minutes > 1 else ''}.")
        self.retry_after = retry_after


class TooManyRequests(TooManyAttempts):
    """A user has more requests under way than are kept waiting."""

    def __init__(self, retry_after: timedelta) -> None:
        super().__init__(retry_after)
        self.args = ("Too many requests of yours are under way. Wait until some of them are answered.",)


class QuotaReached(TooManyAttempts):
    """A user has done something as often as is allowed in a day or an hour."""

    def __init__(self, what: str, most: int, within: timedelta, retry_after: timedelta) -> None:
        super().__init__(retry_after)
        hours = round(within / timedelta(hours=1))
        period = "an hour" if hours == 1 else "a day" if hours == 24 else f"{hours} hours"
        minutes = max(1, round(retry_after / timedelta(minutes=1)))
        again = f"{minutes} minutes" if minutes < 120 else f"{round(minutes / 60)} hours"
        self.args = (f"{most:,} {what} {period} are allowed. Try again in {again}.",)


class NotFound(HeadwaterError):
    """What was asked for is not here."""


class SourceNotFound(NotFound):
    """No source has this id or address."""

    def __init__(self, wanted: str) -> None:
        super().__init__(f"There is no source {wanted!r}. `headwater source list` shows those that there are.")
        self.wanted = wanted


class FeedNotFound(NotFound):
    """This person follows no such feed."""

    def __init__(self) -> None:
        super().__init__("Feed not found")


class SubmissionNotFound(NotFound):
    """Nobody has suggested such a feed, or not whoever asks."""

    def __init__(self) -> None:
        super().__init__("There is no such suggestion.")


class NoArticles(NotFound):
    """This person's feeds listed nothing that could be summed up."""

    def __init__(self) -> None:
        super().__init__("No articles found from the last 24 hours")


class Conflict(HeadwaterError):
    """What was asked for clashes with what is here."""


class SourceExists(Conflict):
    """The feed is already followed."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url} is followed already.")
        self.url = url


class SourceIsOff(Conflict):
    """A source that is disabled as a whole cannot be read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is disabled. Set `enabled` to true, and it is read at once.")


class NotApproved(Conflict):
    """A suggestion that is pending or was rejected is enabled by its approval alone."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} was suggested by a reader and is not approved. A moderator approves it first.")


class RetryRefused(Conflict):
    """A reader may not have this feed polled now; the message says why and until when."""


class NothingToPoll(Conflict):
    """A source without a feed has none to switch off."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no feed. Set `enabled` to false to leave the whole source alone.")


class HostBusy(Conflict):
    """A host cannot be asked just now: others have their turn there, or it is paused. Nothing is wrong.

    `until` is None while nobody knows when it is free.
    """

    def __init__(self, host: str, until: datetime | None = None) -> None:
        when = "in a moment" if until is None else f"after {until:%Y-%m-%d %H:%M} UTC"
        super().__init__(f"{host} is busy; try again {when}.")
        self.host = host
        self.until = until


class AlreadySubscribed(Conflict):
    """This person follows the feed already."""

    def __init__(self) -> None:
        super().__init__("You have already added this feed")


class TooManyFeeds(Conflict):
    """A user follows as many feeds as are allowed."""

    def __init__(self, most: int) -> None:
        super().__init__(f"You follow {most:,} feeds, as many as are allowed here. Remove one first.")
        self.most = most


class FeedTaken(Conflict):
    """The feed cannot be suggested, since it is here: public, waiting, or refused before."""

    def __init__(self, message: str, source_id: UUID, *, is_public: bool = False) -> None:
        super().__init__(message)
        self.source_id = source_id
        self.is_public = is_public


class AlreadyDecided(Conflict):
    """A person has decided on the suggestion."""

    def __init__(self, name: str, status: str) -> None:
        super().__init__(f"{name!r} is {status} already.")


class LastAdministrator(Conflict):
    """The last super_admin cannot be removed or demoted."""

    def __init__(self, email: str) -> None:
        super().__init__(f"{email} is the only super_admin. Give another account that role first.")


class EmailTaken(Conflict):
    """There is an account with this address."""

    def __init__(self, email: str) -> None:
        super().__init__("An account with this email already exists")
        self.email = email


class TokenNameTaken(Conflict):
    """A person's tokens have different names."""

    def __init__(self, name: str) -> None:
        super().__init__(f"You have a token named {name!r} already.")
        self.name = name


class PortTaken(Conflict):
    """Another program listens where we were told to."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} on {host} is taken, perhaps by another Headwater. "
            f"Stop that one, or choose another port: --port {port + 1}, or HEADWATER_PORT={port + 1}."
        )
        self.host = host
        self.port = port


class Unavailable(HeadwaterError):
    """Something we stand on is not there just now."""


class DatabaseUnavailable(Unavailable):
    """PostgreSQL does not answer."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"The database does not answer: {cause}. `headwater doctor` tells more.")
        self.cause = cause


class Deadlock(DatabaseUnavailable):
    """Two waited for each other, and PostgreSQL undid this one's work: it can be done again at once."""


class QueryTimedOut(DatabaseUnavailable):
    """A statement of a request took longer than requests may: it was cancelled, and its transaction rolled back."""


class EmbeddedServerFailed(Unavailable):
    """The embedded PostgreSQL could not be started."""

    def __init__(self, data_dir: Path, reason: str) -> None:
        super().__init__(f"The embedded PostgreSQL in {data_dir} did not start: {reason}")
        self.data_dir = data_dir
        self.reason = reason


class SchemaBehind(Unavailable):
    """The database lacks migrations that this version needs."""

    def __init__(self, found: int, wanted: int) -> None:
        super().__init__(
            f"The database is at migration {found}, this version of Headwater needs {wanted}. "
            "Run `headwater migrate up`."
        )
        self.found = found
        self.wanted = wanted


class SchemaTooNew(Unavailable):
    """The database was migrated by a newer version; we would not understand it."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database is at migration {found}, but this version of Headwater knows only {known}. "
            "Run the newer version that migrated it, or migrate down with that one first."
        )
        self.found = found
        self.known = known


class SchemaUnreleased(Unavailable):
    """The database was created by a development version from before the first release."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The database was created by a development version of Headwater (migration {name}), which cannot be "
            "upgraded. Nothing was changed. Export your feeds as OPML with that version (Import and export), start "
            "this version with an empty database (another DATABASE_URL or HEADWATER_DATA_DIR), and import the file."
        )
        self.name = name


class MigrationFailed(Unavailable):
    """A migration was refused by PostgreSQL; nothing of it was kept."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f"Migration {name} failed and was rolled back: {cause}")
        self.name = name
        self.cause = cause


class RightsMissing(Unavailable):
    """Roles, grants or policies of the database are incomplete, so that users' rows would not be kept apart."""

    def __init__(self, login: str, problems: Sequence[str], statements: Sequence[str]) -> None:
        super().__init__(
            f"The database's roles, grants or policies are incomplete: {'; '.join(problems[:3])}"
            f"{f'; and {len(problems) - 3} more' if len(problems) > 3 else ''}. "
            "Run `headwater migrate up` as the owner of the tables; what that login may not do, a superuser or the "
            "owner of the role runs (docs/install.md):\n" + "\n".join(f"{line};" for line in statements)
        )
        self.login = login
        self.problems = tuple(problems)
        self.statements = tuple(statements)


class IndexUnavailable(Unavailable):
    """The search index does not answer, or will not have us."""

    def __init__(self, cause: str, *, is_refusal: bool = False) -> None:
        super().__init__(f"The search index cannot be used: {cause}. `headwater index check` tells more.")
        self.cause = cause
        self.is_refusal = is_refusal  # it answers: a person must look at its settings or ours


class AiUnavailable(Unavailable):
    """The language model's service does not answer, or will not have us."""

    def __init__(self) -> None:
        super().__init__("AI service is temporarily unavailable")


class SummaryFailed(Unavailable):
    """The language model answered, and not with a summary."""

    def __init__(self) -> None:
        super().__init__("Failed to generate summary. Please try again later.")


class IssuerUnavailable(Unavailable):
    """Whoever vouches for people elsewhere does not answer."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} does not answer just now. Try again in a moment.")
        self.name = name


class IndexMismatch(Conflict):
    """Under the name we would write to stands something that is not ours."""

    def __init__(self, index: str, differences: Sequence[str]) -> None:
        super().__init__(f"The search index {index} is not as Headwater makes it: {'; '.join(differences)}.")
        self.index = index
        self.differences = tuple(differences)


class UrlNotFound(NotFound):
    """No URL of the frontier has this id."""

    def __init__(self, id: UUID) -> None:  # noqa: A002  what else should an id be called
        super().__init__(f"There is no URL {id} in the frontier.")
        self.id = id

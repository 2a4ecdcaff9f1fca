"""Every error that Headwater raises for a caller, in one tree.

    HeadwaterError
    ├── Invalid                 an argument is invalid
    │   ├── InvalidUrl
    │   ├── InvalidFeed
    │   ├── InvalidProposal
    │   └── InvalidSettings
    ├── NotLoggedIn             the request has no valid session or token
    │   └── WrongPassword
    ├── Forbidden               the user's role does not allow it
    │   ├── RegistrationClosed
    │   └── SetupCodeNeeded
    ├── TooManyAttempts         a rate limit or quota is reached
    │   ├── QuotaReached
    │   └── TooManyRequests
    ├── NotFound                it does not exist
    │   ├── SourceNotFound
    │   ├── FeedNotFound
    │   ├── SubmissionNotFound
    │   ├── NoArticles
    │   └── UrlNotFound
    ├── Conflict                it conflicts with the present state
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
    └── Unavailable             a service is down: try again, or fix it
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

Failures of feeds and hosts are values instead: see `net/types.py` and `polling/types.py`. HTTP statuses and exit codes
are in `asgi/errors.py` and `cli/exit_codes.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID


class HeadwaterError(Exception):
    """The base class. Its message is shown to users."""


class Invalid(HeadwaterError):
    """An argument is invalid."""


class InvalidUrl(Invalid):
    """A URL is invalid or not allowed."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url!r} is not a URL that can be followed: {reason}")
        self.url = url
        self.reason = reason


class InvalidFeed(Invalid):
    """A feed cannot be added; with a message for each invalid field."""

    def __init__(self, *, name: str = "", url: str = "") -> None:
        super().__init__(name or url)
        self.name = name
        self.url = url


class InvalidProposal(Invalid):
    """A feed cannot be suggested; with a message for each invalid field, and the feeds that its page links."""

    def __init__(self, problems: Mapping[str, str], offers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(" ".join(problems.values()))
        self.problems = dict(problems)
        self.offers = tuple(offers)  # URL and title of each


class InvalidSettings(Invalid):
    """Settings have an invalid value or an unknown name."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class NotLoggedIn(HeadwaterError):
    """The request has no valid session or token."""

    def __init__(self, message: str = "Log in first.") -> None:
        super().__init__(message)


class WrongPassword(NotLoggedIn):
    """The email or the password is wrong; the message does not say which."""

    def __init__(self) -> None:
        super().__init__("Invalid email or password")


class Forbidden(HeadwaterError):
    """The user's role does not allow it."""


class RegistrationClosed(Forbidden):
    """Only an administrator can create accounts."""

    def __init__(self) -> None:
        super().__init__("Registration is closed here. Ask an administrator for an account.")


class SetupCodeNeeded(Forbidden):
    """The first account of an instance that others can reach needs a code from its console."""

    def __init__(self) -> None:
        super().__init__(
            "The set-up code is missing or wrong. Headwater prints it when it starts, and so does "
            "`headwater user setup-code`."
        )


class TooManyAttempts(HeadwaterError):
    """A rate limit is reached."""

    def __init__(self, retry_after: timedelta, *, advice: str = "") -> None:
        minutes = max(1, round(retry_after / timedelta(minutes=1)))
        super().__init__(f"Too many attempts. {advice}Try again in {minutes} minute{'s' if minutes > 1 else ''}.")
        self.retry_after = retry_after


class TooManyRequests(TooManyAttempts):
    """A user has too many requests in progress."""

    def __init__(self, retry_after: timedelta) -> None:
        super().__init__(retry_after)
        self.args = ("You have too many requests in progress. Wait until some of them are answered.",)


class QuotaReached(TooManyAttempts):
    """A user's quota for a day or an hour is used up."""

    def __init__(self, what: str, most: int, within: timedelta, retry_after: timedelta) -> None:
        super().__init__(retry_after)
        hours = round(within / timedelta(hours=1))
        period = "an hour" if hours == 1 else "a day" if hours == 24 else f"{hours} hours"
        minutes = max(1, round(retry_after / timedelta(minutes=1)))
        again = f"{minutes} minutes" if minutes < 120 else f"{round(minutes / 60)} hours"
        self.args = (f"{most:,} {what} {period} are allowed. Try again in {again}.",)


class NotFound(HeadwaterError):
    """It does not exist."""


class SourceNotFound(NotFound):
    """No source has this id or URL."""

    def __init__(self, wanted: str) -> None:
        super().__init__(f"There is no source {wanted!r}. `headwater source list` lists all sources.")
        self.wanted = wanted


class FeedNotFound(NotFound):
    """The user does not follow such a feed."""

    def __init__(self) -> None:
        super().__init__("Feed not found")


class SubmissionNotFound(NotFound):
    """There is no such suggestion, or it is another user's."""

    def __init__(self) -> None:
        super().__init__("There is no such suggestion.")


class NoArticles(NotFound):
    """The user's feeds have no articles to summarise."""

    def __init__(self) -> None:
        super().__init__("No articles found from the last 24 hours")


class Conflict(HeadwaterError):
    """It conflicts with the present state."""


class SourceExists(Conflict):
    """The feed is followed already."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url} is followed already.")
        self.url = url


class SourceIsOff(Conflict):
    """The whole source is disabled."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is disabled. Set `enabled` to true, and it is read at once.")


class NotApproved(Conflict):
    """A pending or rejected suggestion cannot be enabled: a moderator approves it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} was suggested by a reader and is not approved. A moderator approves it first.")


class RetryRefused(Conflict):
    """The feed cannot be retried now; the message says why and until when."""


class NothingToPoll(Conflict):
    """The source has no feed to disable."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no feed. Set `enabled` to false to disable the whole source.")


class HostBusy(Conflict):
    """A host is busy or paused: it is requested later, and is not an error of the feed.

    `until` is None if unknown.
    """

    def __init__(self, host: str, until: datetime | None = None) -> None:
        when = "in a moment" if until is None else f"after {until:%Y-%m-%d %H:%M} UTC"
        super().__init__(f"{host} is busy; try again {when}.")
        self.host = host
        self.until = until


class AlreadySubscribed(Conflict):
    """The user follows the feed already."""

    def __init__(self) -> None:
        super().__init__("You have already added this feed")


class TooManyFeeds(Conflict):
    """The user's limit of feeds is reached."""

    def __init__(self, most: int) -> None:
        super().__init__(f"You follow {most:,} feeds, as many as are allowed here. Remove one first.")
        self.most = most


class FeedTaken(Conflict):
    """The feed cannot be suggested: it is public, pending, or was rejected."""

    def __init__(self, message: str, source_id: UUID, *, is_public: bool = False) -> None:
        super().__init__(message)
        self.source_id = source_id
        self.is_public = is_public


class AlreadyDecided(Conflict):
    """The suggestion was approved or rejected already."""

    def __init__(self, name: str, status: str) -> None:
        super().__init__(f"{name!r} is {status} already.")


class LastAdministrator(Conflict):
    """The last super_admin cannot be removed or demoted."""

    def __init__(self, email: str) -> None:
        super().__init__(f"{email} is the only super_admin. Give another account that role first.")


class EmailTaken(Conflict):
    """There is an account with this email."""

    def __init__(self, email: str) -> None:
        super().__init__("An account with this email already exists")
        self.email = email


class TokenNameTaken(Conflict):
    """The user has a token of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"You have a token named {name!r} already.")
        self.name = name


class PortTaken(Conflict):
    """Another program listens on the port."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} on {host} is taken, perhaps by another Headwater. "
            f"Stop that one, or choose another port: --port {port + 1}, or HEADWATER_PORT={port + 1}."
        )
        self.host = host
        self.port = port


class Unavailable(HeadwaterError):
    """A service that Headwater needs is unavailable."""


class DatabaseUnavailable(Unavailable):
    """PostgreSQL does not answer."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"The database does not answer: {cause}. `headwater doctor` reports more.")
        self.cause = cause


class Deadlock(DatabaseUnavailable):
    """PostgreSQL rolled this transaction back to end a deadlock: it can be repeated at once."""


class QueryTimedOut(DatabaseUnavailable):
    """A statement exceeded the timeout of requests: it was cancelled, and its transaction rolled back."""


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
    """The database was migrated by a newer version."""

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
    """A migration failed and was rolled back."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f"Migration {name} failed and was rolled back: {cause}")
        self.name = name
        self.cause = cause


class RightsMissing(Unavailable):
    """Roles, grants or policies of the database are incomplete, so that rows of users are not isolated."""

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
    """The search index does not answer, or refuses our requests."""

    def __init__(self, cause: str, *, is_refusal: bool = False) -> None:
        super().__init__(f"The search index cannot be used: {cause}. `headwater index check` reports more.")
        self.cause = cause
        self.is_refusal = is_refusal  # it answers: its settings or ours must be changed


class AiUnavailable(Unavailable):
    """The service of the language model does not answer, or refuses our requests."""

    def __init__(self) -> None:
        super().__init__("AI service is temporarily unavailable")


class SummaryFailed(Unavailable):
    """The language model answered without a summary."""

    def __init__(self) -> None:
        super().__init__("Failed to generate summary. Please try again later.")


class IssuerUnavailable(Unavailable):
    """An external issuer of tokens does not answer."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} does not answer just now. Try again in a moment.")
        self.name = name


class IndexMismatch(Conflict):
    """The index of that name was not made by Headwater."""

    def __init__(self, index: str, differences: Sequence[str]) -> None:
        super().__init__(f"The search index {index} is not as Headwater makes it: {'; '.join(differences)}.")
        self.index = index
        self.differences = tuple(differences)


class UrlNotFound(NotFound):
    """No URL of the frontier has this id."""

    def __init__(self, id: UUID) -> None:  # noqa: A002  what else should an id be called
        super().__init__(f"There is no URL {id} in the frontier.")
        self.id = id

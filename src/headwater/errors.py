"""Every error that a caller can cause, in one tree. Messages are shown to users.

Failures of feeds and hosts are values instead: see `net/types.py` and `polling/types.py`. HTTP statuses and exit codes
are in `asgi/errors.py` and `cli/exit_codes.py`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID


class HeadwaterError(Exception):
    """The base class. `message` is that of an error that is raised without one."""

    message = ""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.message)


class Invalid(HeadwaterError):
    """An argument is invalid."""


class InvalidUrl(Invalid):
    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url!r} is not a valid URL: {reason}")
        self.url = url
        self.reason = reason


class MatchesEverything(Invalid):
    message = "This query matches every article. Write * if that is what you want."


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


class QueryInvalid(Invalid):
    """A query cannot be read. The problem is at `position`, `length` characters long; `suggestion` would replace it."""

    def __init__(self, problem: str, *, position: int = 0, length: int = 0, suggestion: str = "") -> None:
        super().__init__(f"{problem}, did you mean `{suggestion}`?" if suggestion else f"{problem}.")
        self.position = position
        self.length = length
        self.suggestion = suggestion


class InvalidView(Invalid):
    """A view cannot be saved; with the problem of its name, and of its query with the place."""

    def __init__(self, *, name: str = "", query: QueryInvalid | None = None) -> None:
        super().__init__(" ".join(filter(None, (name, str(query) if query else ""))))
        self.name = name
        self.query = query


class InvalidReaderRule(Invalid):
    """A rule of a reader cannot be saved; with the problem of each field, and the place of that in its query."""

    def __init__(self, *, name: str = "", query: QueryInvalid | None = None, tags: str = "", actions: str = "") -> None:
        super().__init__(" ".join(filter(None, (name, str(query) if query else "", tags, actions))))
        self.name = name
        self.query = query
        self.tags = tags
        self.actions = actions


class InvalidSettings(Invalid):
    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))


class NotLoggedIn(HeadwaterError):
    """The request has no valid session or token."""

    message = "Log in first."


class WrongPassword(NotLoggedIn):
    message = "Invalid email or password"


class Forbidden(HeadwaterError):
    """The user's role does not allow it."""


class RegistrationClosed(Forbidden):
    message = "Registration is closed here. Ask an administrator for an account."


class SetupCodeNeeded(Forbidden):
    """The first account of an instance that others can reach needs a code from its console."""

    message = "The setup code is missing or wrong. `headwater user setup-code` prints it, and Headwater when it starts."


class TooManyAttempts(HeadwaterError):
    """A rate limit or quota is reached."""

    def __init__(self, retry_after: timedelta, *, advice: str = "", text: str = "") -> None:
        minutes = max(1, round(retry_after / timedelta(minutes=1)))
        again = f"Try again in {minutes} minute{'s' if minutes > 1 else ''}."
        super().__init__(text or f"Too many attempts. {advice}{again}")
        self.retry_after = retry_after


class TooManyRequests(TooManyAttempts):
    """A user has too many requests in progress."""

    def __init__(self, retry_after: timedelta) -> None:
        text = "You have too many requests in progress. Wait until some of them are finished."
        super().__init__(retry_after, text=text)


class QuotaReached(TooManyAttempts):
    """A user's quota for a day or an hour is used up."""

    def __init__(self, what: str, most: int, within: timedelta, retry_after: timedelta) -> None:
        hours = round(within / timedelta(hours=1))
        period = "an hour" if hours == 1 else "a day" if hours == 24 else f"{hours} hours"
        minutes = max(1, round(retry_after / timedelta(minutes=1)))
        again = f"{minutes} minutes" if minutes < 120 else f"{round(minutes / 60)} hours"
        super().__init__(retry_after, text=f"{most:,} {what} {period} are allowed. Try again in {again}.")


class NotFound(HeadwaterError):
    """It does not exist, or belongs to another user."""


class SourceNotFound(NotFound):
    def __init__(self, wanted: str) -> None:
        super().__init__(f"There is no source {wanted!r}. `headwater source list` lists all sources.")


class UrlNotFound(NotFound):
    def __init__(self, url_id: UUID) -> None:
        super().__init__(f"There is no URL {url_id} in the frontier.")


class ArticleNotFound(NotFound):
    message = "There is no such article."


class StoryNotFound(NotFound):
    message = "There is no such story."


class RuleNotFound(NotFound):
    message = "There is no such rule."


class ChannelNotFound(NotFound):
    def __init__(self, wanted: object) -> None:
        super().__init__(f"There is no channel {wanted}.")


class FeedNotFound(NotFound):
    message = "Feed not found"


class SubmissionNotFound(NotFound):
    message = "There is no such suggestion."


class NoArticles(NotFound):
    message = "No articles found from the last 24 hours"


class Conflict(HeadwaterError):
    """It conflicts with the present state."""


class RuleExists(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is already a rule named {name!r}.")


class TooManyRules(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(f"At most {most} rules are possible, since each article is compared with all of them.")


class ChannelExists(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is already a channel named {name!r}.")


class TooManyChannels(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(f"At most {most:,} channels are possible.")


class SourceExists(Conflict):
    def __init__(self, url: str) -> None:
        super().__init__(f"{url} is already followed.")


class SourceIsOff(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is disabled. Enable it, and it is read at once.")


class NotApproved(Conflict):
    """A pending or rejected suggestion cannot be enabled."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} was suggested by a reader and is not approved. A moderator must approve it first.")


class NoSubscribers(Conflict):
    """A custom source without subscribers would be deleted."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} has no subscribers, and custom sources without subscribers are deleted. Keep it as a system "
            "source, or delete it."
        )


class RetryRefused(Conflict):
    """The feed cannot be retried now; the message says why and until when."""


class NothingToPoll(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no feed. Set `enabled` to false to disable the whole source.")


class HostBusy(Conflict):
    """A host is busy or paused, `until` then if known: it is requested later, and is not an error of the feed."""

    def __init__(self, host: str, until: datetime | None = None) -> None:
        when = "in a moment" if until is None else f"after {until:%Y-%m-%d %H:%M} UTC"
        super().__init__(f"{host} is busy; try again {when}.")
        self.host = host
        self.until = until


class AlreadySubscribed(Conflict):
    message = "You have already added this feed"


class TooManyFeeds(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(f"You follow {most:,} feeds, the maximum on this server. Remove one first.")


class ViewNameTaken(Conflict):
    message = "You have a view with this name."


class TooManyViews(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(f"You have {most:,} views, the maximum on this server. Delete one first.")


class TooManyReaderRules(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(f"You have {most:,} rules, the maximum on this server. Delete one first.")


class TooManySaved(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(f"You have {most:,} articles in Read later, the maximum on this server. Remove one first.")


class TooManyTags(Conflict):
    def __init__(self, most: int) -> None:
        super().__init__(f"An article or feed has at most {most:,} tags on this server. Remove one first.")


class FeedTaken(Conflict):
    """The feed cannot be suggested: it is public, pending, or was rejected."""

    def __init__(self, message: str, source_id: UUID, *, is_public: bool = False) -> None:
        super().__init__(message)
        self.source_id = source_id
        self.is_public = is_public


class AlreadyDecided(Conflict):
    def __init__(self, name: str, status: str) -> None:
        super().__init__(f"{name!r} is already {status}.")


class LastAdministrator(Conflict):
    """The last super_admin cannot be removed or demoted."""

    def __init__(self, email: str) -> None:
        super().__init__(f"{email} is the only super_admin. Give another user that role first.")


class EmailTaken(Conflict):
    message = "An account with this email already exists"


class TokenNameTaken(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"You already have a token named {name!r}.")


class IndexMismatch(Conflict):
    """The index of that name was not made by Headwater."""

    def __init__(self, index: str, differences: Sequence[str]) -> None:
        super().__init__(f"The search index {index} differs from what Headwater expects: {'; '.join(differences)}.")


class PortTaken(Conflict):
    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} on {host} is in use, perhaps by another Headwater. "
            f"Stop that one, or choose another port: --port {port + 1}, or HEADWATER_PORT={port + 1}."
        )


class Unavailable(HeadwaterError):
    """A service that Headwater needs is unavailable."""


class DatabaseUnavailable(Unavailable):
    def __init__(self, cause: str) -> None:
        super().__init__(f"The database does not answer: {cause}. `headwater doctor` reports more.")
        self.cause = cause


class Deadlock(DatabaseUnavailable):
    """PostgreSQL rolled this transaction back to end a deadlock: it can be repeated at once."""


class QueryTimedOut(DatabaseUnavailable):
    """A statement exceeded the timeout of requests: it was cancelled, and its transaction rolled back."""


class EmbeddedServerFailed(Unavailable):
    def __init__(self, data_dir: Path, reason: str) -> None:
        super().__init__(f"The embedded PostgreSQL in {data_dir} did not start: {reason}")


class SchemaBehind(Unavailable):
    def __init__(self, found: int, wanted: int) -> None:
        text = f"The database is at migration {found}, this version of Headwater needs {wanted}."
        super().__init__(f"{text} Run `headwater migrate up`.")


class SchemaTooNew(Unavailable):
    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The database is at migration {found}, but this version of Headwater supports only {known}. "
            "Run the newer version, or migrate down with it first."
        )


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
    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f"Migration {name} failed and was rolled back: {cause}")


class RightsMissing(Unavailable):
    """Roles, grants or policies of the database are incomplete, so that rows of users are not isolated."""

    def __init__(self, problems: Sequence[str], statements: Sequence[str]) -> None:
        super().__init__(
            f"The database's roles, grants or policies are incomplete: {'; '.join(problems[:3])}"
            f"{f'; and {len(problems) - 3} more' if len(problems) > 3 else ''}. "
            "Run `headwater migrate up` as the owner of the tables. What that login may not run must be run by "
            "a superuser or the owner of the role (docs/install.md):\n" + "\n".join(f"{line};" for line in statements)
        )
        self.problems = tuple(problems)
        self.statements = tuple(statements)


class IndexUnavailable(Unavailable):
    """The search index does not answer, or refuses our requests (`is_refusal`): settings must be changed then."""

    def __init__(self, cause: str, *, is_refusal: bool = False) -> None:
        super().__init__(f"The search index cannot be used: {cause}. `headwater index check` reports more.")
        self.is_refusal = is_refusal


class IssuerUnavailable(Unavailable):
    """An external issuer of tokens does not answer."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} does not respond. Try again in a moment.")


class AiUnavailable(Unavailable):
    message = "AI service is temporarily unavailable"


class SummaryFailed(Unavailable):
    message = "Failed to generate summary. Please try again later."

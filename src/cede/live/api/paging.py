"""Lists in pages: how far, and from where on."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

MOST_LISTED = 1000
MOST_NUMBER = 2**63 - 1


class Parameters(BaseModel):
    """Parameters of a query: exactly those it names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Paging(Parameters):
    """How many entries a page has."""

    limit: int = Field(100, ge=1, le=MOST_LISTED)


class Numbered(Paging):
    """A page of what is numbered."""

    after: int = Field(0, ge=0, le=MOST_NUMBER, description="The `next` of the page before; default 0.")

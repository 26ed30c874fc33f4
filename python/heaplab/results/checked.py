"""The base of what TOML files hold: checked and immutable values."""

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

"""OpenAI's error bodies: `{"error": {"message", "type", "param", "code"}}`, in the API's own wording.

The wording and codes were collected from error bodies the public API returned to its users; what could not
be confirmed against the live service is listed in docs/unverified/model.md.
"""

from typing import Any

from tests.simulators.model.wire import ApiError

KEYS_PAGE = "https://platform.openai.com/account/api-keys"


def body(message: str, kind: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def refusal(message: str, param: str | None = None, code: str | None = None, status: int = 400) -> ApiError:
    return ApiError(status, body(message, "invalid_request_error", param, code))


def missing_key() -> ApiError:
    return refusal(
        "You didn't provide an API key. You need to provide your API key in an Authorization header using "
        "Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) "
        "if you're accessing the API from your browser and are prompted for a username and password. "
        f"You can obtain an API key from {KEYS_PAGE}.",
        status=401,
    )


def wrong_key(key: str) -> ApiError:
    shown = f"{key[:8]}{'*' * (len(key) - 12)}{key[-4:]}" if len(key) > 12 else "*" * len(key)
    message = f"Incorrect API key provided: {shown}. You can find your API key at {KEYS_PAGE}."
    return refusal(message, code="invalid_api_key", status=401)


def unknown_model(model: str) -> ApiError:
    message = f"The model `{model}` does not exist or you do not have access to it."
    return refusal(message, code="model_not_found", status=404)


def not_json() -> ApiError:
    return refusal(
        "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your "
        "HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid "
        "JSON. If you have trouble figuring out how to fix this, please contact us through our help "
        "center at help.openai.com.)"
    )


def missing(param: str) -> ApiError:
    return refusal(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")


def unknown(param: str) -> ApiError:
    return refusal(f"Unknown parameter: '{param}'.", param, "unknown_parameter")


def wrong_type(param: str, expected: str, got: Any) -> ApiError:
    message = f"Invalid type for '{param}': expected {expected}, but got {described(got)} instead."
    return refusal(message, param, "invalid_type")


def not_one_of(param: str, value: Any, supported: tuple[str, ...]) -> ApiError:
    listed = ", ".join(f"'{name}'" for name in supported[:-1]) + f", and '{supported[-1]}'"
    if len(supported) <= 2:
        listed = " and ".join(f"'{name}'" for name in supported)
    message = f"Invalid value: '{value}'. Supported values are: {listed}."
    return refusal(message, param, "invalid_value")


def empty_array(param: str) -> ApiError:
    message = (
        f"Invalid '{param}': empty array. Expected an array with minimum length 1, "
        "but got an empty array instead."
    )
    return refusal(message, param, "empty_array")


def long_array(param: str, limit: int, got: int) -> ApiError:
    message = (
        f"Invalid '{param}': array too long. Expected an array with maximum length {limit}, "
        f"but got an array with length {got} instead."
    )
    return refusal(message, param, "array_above_max_length")


def empty_string(param: str) -> ApiError:
    message = (
        f"Invalid '{param}': empty string. Expected a string with minimum length 1, "
        "but got an empty string instead."
    )
    return refusal(message, param, "empty_string")


def long_string(param: str, limit: int, got: int) -> ApiError:
    message = (
        f"Invalid '{param}': string too long. Expected a string with maximum length {limit}, "
        f"but got a string with length {got} instead."
    )
    return refusal(message, param, "string_above_max_length")


def wrong_pattern(param: str, pattern: str) -> ApiError:
    message = (
        f"Invalid '{param}': string does not match pattern. "
        f"Expected a string that matches the pattern '{pattern}'."
    )
    return refusal(message, param, "invalid_value")


def out_of_range(param: str, value: float, bound: float, *, above: bool) -> ApiError:
    kind = "integer" if isinstance(bound, int) else "decimal"
    side, sign = ("above maximum", "<=") if above else ("below minimum", ">=")
    shown = f"{bound:g}" if isinstance(bound, float) else str(bound)
    message = (
        f"Invalid '{param}': {kind} {side} value. Expected a value {sign} {shown}, but got {value} instead."
    )
    return refusal(message, param, f"{kind}_{'above_max' if above else 'below_min'}_value")


def described(value: Any) -> str:
    """A JSON value as the API's messages call it."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a decimal"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"

"""Presets of services and servers that speak OpenAI's chat completions format."""

from __future__ import annotations

from dataclasses import dataclass

from rulewise.errors import InputError
from rulewise.llm.chat import GrammarStyle
from rulewise.registry import unknown_name

__all__ = ["PROVIDERS", "Provider", "address_of", "key_of", "provider_named"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What is the same for all models of a service.

    Attributes:
        name: The part before the colon in "provider:model".
        base_url: Where it is by default; "" if it has to be given.
        key: A stand-in for servers that ask for no key; "" if a real one is needed.
        length_field: The name it gives to the bound on a reply's length.
        grammar: How it takes a GBNF grammar.
        is_local: Whether calls cost nothing, because the user runs the server.
        hint: What to do if nothing answers at the address.
    """

    name: str
    base_url: str = ""
    key: str = ""
    length_field: str = "max_tokens"
    grammar: GrammarStyle = ""
    is_local: bool = True
    hint: str = ""


PROVIDERS: dict[str, Provider] = {
    p.name: p
    for p in (
        Provider(
            name="openai",
            base_url="https://api.openai.com/v1",
            length_field="max_completion_tokens",
            is_local=False,
            hint="Check the network and the base URL.",
        ),
        Provider(
            name="azure",
            length_field="max_completion_tokens",
            is_local=False,
            hint="Check the resource's endpoint, which looks like https://NAME.openai.azure.com.",
        ),
        Provider(
            name="ollama",
            base_url="http://127.0.0.1:11434/v1",
            key="ollama",
            hint="Start Ollama (`ollama serve`) and fetch the model (`ollama pull MODEL`).",
        ),
        Provider(
            name="vllm",
            base_url="http://127.0.0.1:8000/v1",
            key="EMPTY",
            grammar="vllm",
            hint="Start the server: `vllm serve MODEL`.",
        ),
        Provider(
            name="llamacpp-server",
            base_url="http://127.0.0.1:8080/v1",
            key="none",
            grammar="llamacpp",
            hint="Start the server: `llama-server -m MODEL.gguf --port 8080`.",
        ),
        Provider(
            name="lmstudio",
            base_url="http://127.0.0.1:1234/v1",
            key="lm-studio",
            hint="Start the server in LM Studio (Developer, Start Server) and load the model.",
        ),
    )
}
"""Provider name -> preset."""


def provider_named(name: str) -> Provider:
    """The preset of this name.

    Raises:
        UnknownNameError: If there is none.
    """
    if name not in PROVIDERS:
        raise unknown_name("provider", name, PROVIDERS)
    return PROVIDERS[name]


def address_of(provider: Provider, base_url: str | None, *, api_version: str | None = None) -> str:
    """The address to call, without a slash at its end.

    Raises:
        InputError: If there is none, or it is not an HTTP address, or holds a password.
    """
    address = (base_url or provider.base_url).strip().rstrip("/")
    if not address:
        raise InputError(f"{provider.name} needs a base URL: {provider.hint}")
    if not address.startswith(("http://", "https://")):
        raise InputError(f"The base URL must start with http:// or https://, got {address!r}.")
    if "@" in address.split("/")[2]:
        raise InputError("The base URL must not hold a user name or password; pass the key as api_key.")
    if provider.name == "azure" and api_version is None and "/openai" not in address:
        return f"{address}/openai/v1"
    return address


def key_of(provider: Provider, api_key: str | None, *, is_default_address: bool) -> str:
    """The key to send, or the provider's stand-in.

    Raises:
        InputError: If one is needed and missing, or cannot be sent; the message does not hold it.
    """
    key = (api_key or "").strip()
    if not key and not provider.key and (is_default_address or provider.name == "azure"):
        raise InputError(f"{provider.name} needs an API key: set RULEWISE_API_KEY or pass api_key.")
    if not key.isascii() or any(c.isspace() or not c.isprintable() for c in key):
        raise InputError("The API key holds characters that cannot be sent. Copy it again, without spaces.")
    return key or provider.key or "none"

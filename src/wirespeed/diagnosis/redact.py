"""redact: texts that can be shown to others: names, addresses and serials replaced, the rest kept.

The same name gets the same stand-in in all files of a case, so that what is seen twice can still be
told to be the same. Lengths may change, lines do not: line numbers of findings stay right.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from json import JSONDecoder

from wirespeed.readers import hosts_in

_UUID = re.compile(
    r"(?<![\w])(?:(GPU|MIG)-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I
)
_GUID = re.compile(
    r"(?<![\w.])(?:0x|[SH]-|S-|H-|R-)?(?:[0-9a-f]{16}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4})(?![\w:])"
    r"|(?<![\w.])0x[0-9a-f]{13,15}(?!\w)|(?<=\()[0-9a-f]{12,15}(?=\))",
    re.I,
)
"""16 digits; where a tool leaves out leading zeros, those behind 0x or in brackets."""
_MAC = re.compile(r"(?<![\w:.])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![\w:])", re.I)
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_IPV6 = re.compile(
    r"(?<![\w:.])(?:[0-9a-f]{1,4}:){2,7}(?::?[0-9a-f]{1,4}){1,7}(?:%\w+)?(?![\w:])", re.I
)
_IPV6_SHORT = re.compile(
    r"(?<![\w:.])[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,5}::[0-9a-f:]*(?:%\w+)?", re.I
)
_GID = re.compile(r"(?i)(gids?\s*)([0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})(?![\w:])")
_SERIAL = re.compile(r"(?i)(\bserial(?: number)?\s*[:=]\s*)(\S+)")
_HOME = re.compile(r"(/(?:home|Users|root)/)([\w.-]+)")
_USER = re.compile(r"(?i)(\b(?:USER|LOGNAME|user name|username)\s*[=:]\s*\"?)([\w.-]+)")
_AT = re.compile(r"(?<![\w.@])\w[\w.-]{0,80}@(\w[\w.-]*)")
_WORD = re.compile(r"(?<![\w.-])\w[\w.-]*(?:\[[\d,-]+\])?")
_ENVIRONMENT = re.compile(r"\"env\"\s*:\s*(?=[{\[])")
_ENTRY = re.compile(r"\"([^\"\\\n]*?)(\"\s*:\s*\"|=)((?:[^\"\\\n]|\\.)*)\"")
_VARIABLE = re.compile(r"(?m)((?:^|[\s;\"'])(?:export )?)([A-Z][A-Z0-9_]{2,})=(?!=)([^\s;]+)")
_OURS = ("NCCL_", "RCCL_")
_OF_THE_RUN = (*_OURS, "CUDA_", "HIP_", "HSA_", "ROCR_", "UCX_", "FI_", "OMPI_", "OMP_")
"""Variables that tell how a run was made, and nothing of whose it is."""
_SECRET = re.compile(
    r"(?i)(\"?\b[\w-]{0,80}(?:token|secret|passw(?:or)?d|api[_-]?key|credential|private[_-]?key)[\w-]{0,80}"
    r"\"?\s*[=:]\s*\"?)([^\s\",}]+)"
)
_HOSTS = (
    re.compile(r"(?m)(?:^|[\s>\])])([A-Za-z][\w.-]*?):\d+:\d+ (?:\[\d+\] )?(?:\S+ )?[NR]CCL"),
    re.compile(r"(?m)\bPid\s+\d+\s+on\s+(\S+)\s+device"),
    re.compile(r"(?m)^(?:Linux|hostname:?|Host(?:name)?:)\s+([A-Za-z][\w.-]+)"),
    re.compile(r"#\s*\"([\w.-]+) (?:hfi|mlx|HCA|bnxt|ibp)[^\"]*\""),
    re.compile(r"host_name=\"([^\"]+)\""),
    re.compile(r"\"(?:host|host_?name|node)\"\s*:\s*\"([A-Za-z][\w.-]*)\""),
    re.compile(r"\"MF0;([A-Za-z][\w.-]*):"),
)
_NOT_ADDRESSES = {"0.0.0.0", "127.0.0.1", "255.255.255.255"}


@dataclass(slots=True)
class Redactor:
    """Stand-ins by what they stand for; one for all files of a case."""

    hosts: set[str] = field(default_factory=set)
    known: dict[tuple[str, str], str] = field(default_factory=dict)

    def learn(self, texts: Collection[str]) -> None:
        """Host names that any of the texts bears where tools print them."""
        found = {name for text in texts for pattern in _HOSTS for name in pattern.findall(text)}
        for text in texts:
            found |= hosts_in(text)
        self.hosts = {name for name in found if len(name) > 1 and not name.isdigit()}

    def text(self, text: str) -> str:
        """The text with stand-ins; as many lines as before."""
        text = without_secrets(text)
        text = _AT.sub(lambda m: f"user@{self._name('host', m[1])}", text)
        text = _WORD.sub(self._host, text)
        text = _UUID.sub(lambda m: f"{m[1] + '-' if m[1] else ''}{self._name('uuid', m[0])}", text)
        text = _GUID.sub(lambda m: self._guid(m[0]), text)
        text = _MAC.sub(lambda m: self._name("mac", m[0]), text)
        text = _IPV4.sub(self._address, text)
        text = _GID.sub(lambda m: f"{m[1]}{self._name('address', m[2])}", text)
        text = _IPV6_SHORT.sub(lambda m: self._name("address", m[0]), text)
        text = _IPV6.sub(self._long_address, text)
        text = _SERIAL.sub(lambda m: f"{m[1]}{self._name('serial', m[2])}", text)
        text = _HOME.sub(lambda m: f"{m[1]}user", text)
        return _USER.sub(lambda m: f"{m[1]}user", text)

    def _name(self, kind: str, original: str) -> str:
        key = (kind, original.lower())
        if key not in self.known:
            count = sum(known == kind for known, _ in self.known) + 1
            self.known[key] = f"{kind}{count}"
        return self.known[key]

    def _host(self, match: re.Match[str]) -> str:
        """A stand-in for a word that is a known host, also before the name of its domain."""
        word = match[0]
        end = len(word)
        while end > 0:
            if word[:end] in self.hosts:
                return self._name("host", word[:end]) + word[end:]
            end = max(word.rfind(".", 0, end), word.rfind("[", 0, end))
        return word

    def _guid(self, original: str) -> str:
        """Another number of the same form, since readers tell ports by theirs."""
        digits = re.sub(r"[^0-9a-f]", "", original.lower().removeprefix("0x"))[-16:]
        if set(digits) <= {"0", "f"}:
            return original
        count = int(self._name("guid", digits.zfill(16)).removeprefix("guid"))
        number = f"{count:0{len(digits)}x}"
        if original.count(":") == 3:
            return ":".join(number[k : k + 4] for k in range(0, 16, 4))
        return original[: len(original) - len(digits)] + number

    def _address(self, match: re.Match[str]) -> str:
        whole = match[0]
        if whole in _NOT_ADDRESSES or any(int(part) > 255 for part in whole.split(".")):
            return whole
        count = int(self._name("ip", whole).removeprefix("ip"))
        # 192.0.2.0/24 and 198.51.100.0/24 are kept for examples (RFC 5737).
        block, last = divmod(count, 250)
        return f"{('192.0.2', '198.51.100', '203.0.113')[block % 3]}.{last + 1}"

    def _long_address(self, match: re.Match[str]) -> str:
        return self._name("address", match[0]) if match[0].count(":") == 7 else match[0]


def without_secrets(text: str) -> str:
    """The text as it may be quoted: no tokens and passwords, no environment but the library's."""
    text = _SECRET.sub(lambda m: f"{m[1]}<secret>", _without_environment(text))
    return _VARIABLE.sub(
        lambda m: m[0] if m[2].startswith(_OF_THE_RUN) else f"{m[1]}{m[2]}=<left out>", text
    )


def _without_environment(text: str) -> str:
    """The text without the environment that nccl-tests prints with its JSON, but the library's."""
    found = _ENVIRONMENT.search(text)
    if found is None:
        return text
    try:
        _, end = JSONDecoder().raw_decode(text, found.end())
    except (ValueError, RecursionError):
        end = len(text)
    kept = _ENTRY.sub(
        lambda m: m[0] if m[1].startswith(_OURS) else f'"{m[1]}{m[2]}<left out>"',
        text[found.end() : end],
    )
    return text[: found.end()] + kept + text[end:]


def redacted(texts: Mapping[str, str], hosts: Iterable[str] = ()) -> dict[str, str]:
    """The texts of a case, by name, as they may be shown: names of files are redacted too.

    `hosts` are names that the case is known to be of, besides those in its texts.
    """
    redactor = Redactor()
    redactor.learn(texts.values())
    redactor.hosts.update(hosts)
    return {redactor.text(name): redactor.text(text) for name, text in texts.items()}
